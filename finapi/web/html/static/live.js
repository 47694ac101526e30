// Parts of a page that refresh themselves. They are requested every 15 s while the page is visible, with the ETag of the
// last response, so that an unchanged answer has no body and costs no tokens.
const REFRESH_MILLISECONDS = 15_000;

async function fetchChanged(url, etag) {
  const headers = etag ? { "If-None-Match": etag } : {};
  const response = await fetch(url, { headers, cache: "no-store" }).catch(() => null);
  return response?.status === 200 ? response : null;
}

// The newest filings of the front page.
const newestRows = document.getElementById("newest");
let newestEtag = "";

function buildCell(content, className = "") {
  const cell = document.createElement("td");
  cell.append(content);
  if (className) cell.className = className;
  return cell;
}

function buildLink(text, url) {
  const link = document.createElement("a");
  link.href = url;
  link.textContent = text;
  return link;
}

function buildFilingRow(filing) {
  const row = document.createElement("tr"), day = document.createElement("time");
  day.textContent = day.dateTime = filing.filed ?? "";
  const form = buildLink(filing.form ?? "unknown", filing.page);
  row.append(buildCell(day), buildCell(form, "short"), buildCell(buildLink(filing.name ?? "", filing.filer_page)));
  return row;
}

async function refreshNewest() {
  if (document.hidden) return;
  const response = await fetchChanged(newestRows.dataset.from, newestEtag);
  if (!response) return;
  newestEtag = response.headers.get("ETag") ?? "";
  const { filings } = await response.json();
  newestRows.replaceChildren(...filings.map(buildFilingRow));
}

if (newestRows) setInterval(refreshNewest, REFRESH_MILLISECONDS);

// An element with the attribute data-live, which is replaced by the same element of the page's next version.
let pageEtag = "";

async function refreshPart() {
  const oldPart = document.querySelector("[data-live]");
  if (!oldPart || document.hidden || oldPart.contains(document.activeElement)) return;
  const response = await fetchChanged(location, pageEtag);
  if (!response) return;
  pageEtag = response.headers.get("ETag") ?? "";
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const newPart = page.querySelector("[data-live]");
  if (newPart) oldPart.replaceWith(newPart);
}

if (document.querySelector("[data-live]")) setInterval(refreshPart, REFRESH_MILLISECONDS);
