"use strict";
// Keys, jobs that are followed, and where somebody was in a cluster.
const rows = () => [...document.querySelectorAll(".rows tbody tr, .hits li")].map((row) => row.querySelector("a")).filter(Boolean);
const rowOf = (node) => node?.closest("tr, li");
const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

function move(step) {
  const links = rows();
  if (links.length === 0) return;
  const at = links.findIndex((link) => rowOf(link).contains(document.activeElement));
  links[at < 0 ? 0 : Math.min(Math.max(at + step, 0), links.length - 1)].focus();
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  m: () => document.querySelector('a[rel="next"]')?.click(),
  "/": () => document.querySelector('input[type="search"]')?.focus(),
  "?": () => document.getElementById("keys").showModal(),
};

function reach() {
  for (const each of document.querySelectorAll(".scroll, .text")) {
    each.tabIndex = each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight ? 0 : -1;
  }
}

reach();
window.addEventListener("resize", reach);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const keyed = `button[data-key="${CSS.escape(event.key)}"]`;
  const outside = [...document.querySelectorAll(keyed)].find((button) => rowOf(button) === null);
  const button = rowOf(document.activeElement)?.querySelector(keyed) ?? outside ?? null;
  if (button !== null) return event.repeat || button.click();
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
});

// After a decision on a row of a cluster the keys go on from there.
document.addEventListener("submit", (event) => {
  const at = rows().findIndex((link) => rowOf(link) === rowOf(event.submitter));
  if (at >= 0 && event.submitter.name === "decision") sessionStorage.setItem("row", at);
});
const last = sessionStorage.getItem("row");
if (last !== null && document.querySelector(".notice") !== null) rows()[Math.min(last, rows().length - 1)]?.focus();
sessionStorage.removeItem("row");

async function refresh() {
  const live = document.querySelector("[data-live]");
  if (live === null) return;
  if (!document.hidden && !live.contains(document.activeElement)) {
    const answer = await fetch(location.href).catch(() => null);
    if (answer?.ok && !answer.redirected) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(live.id);
      if (fresh === null) live.remove();
      else if (!live.contains(document.activeElement)) {
        live.replaceWith(fresh);
        reach();
      }
    }
  }
  setTimeout(refresh, 2000);
}
setTimeout(refresh, 2000);
