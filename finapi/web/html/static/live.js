// A list that renews itself: asked for every 15 s while it is looked at, by its tag, so that nothing new costs nothing.
const rows = document.getElementById("newest");
let tag = "";

function cell(...content) {
  const made = document.createElement("td");
  made.append(...content);
  return made;
}

function link(text, url) {
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.textContent = text;
  return anchor;
}

async function renew() {
  if (document.hidden) return;
  const answer = await fetch(rows.dataset.from, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" })
    .catch(() => null);
  if (answer?.status !== 200) return;
  tag = answer.headers.get("ETag") ?? "";
  const { filings } = await answer.json();
  rows.replaceChildren(...filings.map((one) => {
    const row = document.createElement("tr"), day = document.createElement("time");
    day.textContent = day.dateTime = one.filed ?? "";
    const form = cell(link(one.form ?? "unknown", one.page));
    form.className = "short";
    row.append(cell(day), form, cell(link(one.name ?? "", one.filer_page)));
    return row;
  }));
}

if (rows) setInterval(renew, 15_000);

// A part of a page that renews itself in the same way: the page is asked for again by its tag.
let pageTag = "";
async function renewPart() {
  const old = document.querySelector("[data-live]");
  if (!old || document.hidden || old.contains(document.activeElement)) return;
  const answer = await fetch(location, { headers: pageTag ? { "If-None-Match": pageTag } : {}, cache: "no-store" })
    .catch(() => null);
  if (answer?.status !== 200) return;
  pageTag = answer.headers.get("ETag") ?? "";
  const made = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-live]");
  if (made) old.replaceWith(made);
}

if (document.querySelector("[data-live]")) setInterval(renewPart, 15_000);
