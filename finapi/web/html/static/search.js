// Suggestions below the search field: a listbox that the arrow keys move in (WAI-ARIA combobox).
const TYPING_PAUSE_MILLISECONDS = 120;

const input = document.getElementById("q");
const list = document.createElement("ul");
let requestCount = 0, timer, selectedIndex = -1;

const options = () => [...list.children];

function select(index) {
  selectedIndex = index;
  options().forEach((option, position) => option.setAttribute("aria-selected", String(position === index)));
  if (index < 0) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", options()[index].id);
}

function buildOption(company, index) {
  const option = document.createElement("li"), ticker = document.createElement("b");
  ticker.textContent = company.ticker ?? "";
  option.append(ticker, company.company);
  option.id = `found-${index}`;
  option.url = company.url;
  option.setAttribute("role", "option");
  option.addEventListener("mousedown", (event) => { event.preventDefault(); location.href = company.url; });
  return option;
}

function show(companies) {
  list.replaceChildren(...companies.map(buildOption));
  list.hidden = companies.length === 0;
  input.setAttribute("aria-expanded", String(!list.hidden));
  select(-1);
}

async function suggest() {
  const text = input.value.trim(), request = ++requestCount;
  if (!text) return show([]);
  const url = new URL(`../search.json?q=${encodeURIComponent(text)}`, import.meta.url);
  const response = await fetch(url).catch(() => null);
  const companies = response?.ok ? (await response.json()).companies : [];
  // A response to an earlier text is ignored.
  if (request === requestCount) show(companies);
}

function moveSelection(step) {
  const count = options().length;
  const start = selectedIndex < 0 && step < 0 ? 0 : selectedIndex;
  select((start + step + count) % count);
}

function handleKey(event) {
  if (event.key === "Escape") show([]);
  else if (options().length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    moveSelection(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter" && selectedIndex >= 0) {
    event.preventDefault();
    location.href = options()[selectedIndex].url;
  }
}

if (input) {
  list.className = list.id = "found";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Companies");
  input.after(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", "found");
  input.setAttribute("aria-expanded", "false");
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(suggest, TYPING_PAUSE_MILLISECONDS); });
  input.addEventListener("blur", () => show([]));
  input.addEventListener("keydown", handleKey);
}
