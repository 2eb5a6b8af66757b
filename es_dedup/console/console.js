"use strict";
const rows = () => [...document.querySelectorAll(".rows tbody tr")].map((row) => row.querySelector("a")).filter(Boolean);
const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

function move(step) {
  const links = rows();
  if (links.length === 0) return;
  const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  links[at < 0 ? 0 : Math.min(Math.max(at + step, 0), links.length - 1)].focus();
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  n: () => document.querySelector('a[rel="next"]')?.click(),
  "/": () => document.querySelector('input[type="search"]')?.focus(),
  "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (document.querySelector("dialog[open]") || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
});
