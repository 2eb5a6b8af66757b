"use strict";
// Shows the clusters, rows and members whose title, site, URL or id has all words of the search field.
const field = document.querySelector(".search");
const [input, count] = field.querySelectorAll("input, output");
const plain = (text) => text.normalize("NFKC").toLowerCase();
const named = (root, selector) =>
  [...root.querySelectorAll(selector)].map((node) => ({ node, text: plain(node.dataset.page) }));
const clusters = named(document, ".cluster").map((each) => ({ ...each, members: named(each.node, "li") }));
const rows = named(document, ".largest [data-page]").map(({ node, text }) => ({
  text,
  row: node.closest("tr"),
  cluster: node.hash ? document.querySelector(node.hash) : null,
}));
function search() {
  const words = plain(input.value).split(/\s+/).filter(Boolean);
  const matches = ({ text }) => words.every((word) => text.includes(word));
  for (const { node, text, members } of clusters) {
    const whole = matches({ text });
    for (const member of members) member.node.hidden = !whole && !matches(member);
    node.hidden = !whole && members.every((member) => member.node.hidden);
    if (!whole && !node.hidden) node.open = true;
  }
  for (const { row, cluster, text } of rows) row.hidden = !matches({ text }) && (cluster?.hidden ?? true);
  for (const more of document.querySelectorAll("details.more")) more.open = words.length > 0;
  const shown = rows.filter(({ row }) => !row.hidden).length;
  count.textContent = words.length ? `${shown} of ${rows.length} listed clusters` : "";
}
field.hidden = false;
input.addEventListener("input", search);
search(); // a browser may keep what was typed when the page is loaded anew
