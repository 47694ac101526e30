// Suggestions under the search for companies: a listbox that the arrow keys walk (WAI-ARIA combobox).
const input = document.getElementById("q");
const list = document.createElement("ul");
let asked = 0, wait, chosen = -1;

const options = () => [...list.children];

function choose(place) {
  chosen = place;
  options().forEach((one, number) => one.setAttribute("aria-selected", String(number === chosen)));
  if (chosen < 0) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", options()[chosen].id);
}

function show(rows) {
  list.replaceChildren(...rows.map((row, number) => {
    const item = document.createElement("li"), ticker = document.createElement("b");
    ticker.textContent = row.ticker ?? "";
    item.append(ticker, row.company);
    item.id = `found-${number}`;
    item.setAttribute("role", "option");
    item.addEventListener("mousedown", (event) => { event.preventDefault(); location.href = row.url; });
    item.url = row.url;
    return item;
  }));
  list.hidden = rows.length === 0;
  input.setAttribute("aria-expanded", String(!list.hidden));
  choose(-1);
}

async function ask() {
  const text = input.value.trim(), mine = ++asked;
  if (!text) return show([]);
  const answer = await fetch(new URL(`../search.json?q=${encodeURIComponent(text)}`, import.meta.url)).catch(() => null);
  // An answer to what was typed before is none to what stands there now.
  if (mine === asked) show(answer?.ok ? (await answer.json()).companies : []);
}

if (input) {
  list.className = "found";
  list.id = "found";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Companies");
  input.after(list);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", "found"],
    ["aria-expanded", "false"]]) input.setAttribute(name, value);
  input.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(ask, 120); });
  input.addEventListener("blur", () => show([]));
  input.addEventListener("keydown", (event) => {
    const count = options().length;
    if (event.key === "Escape") show([]);
    else if (count && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      choose((chosen + (event.key === "ArrowDown" ? 1 : -1) + count + (chosen < 0 && event.key === "ArrowUp" ? 1 : 0)) % count);
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      location.href = options()[chosen].url;
    }
  });
}
