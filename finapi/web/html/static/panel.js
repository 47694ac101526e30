// A figure's proof in a dialog above its page. The content is the part [data-panel] of the page that the figure links to,
// which is requested like the page itself, so that the same account pays the same for it.
const SENTENCES = {
  401: "Sign in to see this figure.",
  402: "The account has no tokens left for this page.",
  404: "There is no such figure.",
  429: "Too many requests. Wait a moment and try again.",
};

const dialog = document.createElement("dialog"), bar = document.createElement("div");
const pageLink = document.createElement("a"), closeButton = document.createElement("button");
const content = document.createElement("div");
let openerLink = null, requestCount = 0;

function showSentence(text, role) {
  const paragraph = document.createElement("p");
  paragraph.textContent = text;
  paragraph.setAttribute("role", role);
  content.replaceChildren(paragraph);
}

// The message of a page for an error is a sentence; the login page has none.
function describeFailure(response, page) {
  if (response.status === 401) return SENTENCES[401];
  const message = page.querySelector("main [role=alert], main .note")?.textContent.trim();
  return message || SENTENCES[response.status] || `The page was not loaded (status ${response.status}).`;
}

async function load(url) {
  const request = ++requestCount;
  pageLink.href = url;
  showSentence("Loading the figure.", "status");
  let response, text;
  try {
    response = await fetch(url, { headers: { Accept: "text/html" } });
    text = await response.text();
  } catch {
    if (request === requestCount) showSentence("The host cannot be reached. Try again, or open the page.", "alert");
    return;
  }
  // A response for a figure that the reader has left is ignored.
  if (request !== requestCount) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  const part = response.ok ? page.querySelector("[data-panel]") : null;
  if (part) {
    content.replaceChildren(...part.childNodes);
    dialog.scrollTop = 0;
  } else {
    showSentence(describeFailure(response, page), "alert");
  }
}

function open(link) {
  if (!dialog.open) {
    openerLink = link;
    dialog.showModal();
  }
  load(link.href);
}

function isPlainClick(event) {
  return event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
}

function handleClick(event) {
  const link = event.target.closest?.("td a[href], th a[href]");
  if (!link || link.origin !== location.origin || !isPlainClick(event) || event.defaultPrevented) return;
  if (!/\/company\/[^/]+\/(proof|fact)\//.test(link.pathname)) return;
  event.preventDefault();
  open(link);
}

function handleClose() {
  requestCount += 1;
  content.replaceChildren();
  openerLink?.focus();
}

dialog.className = "panel";
dialog.setAttribute("aria-label", "Proof of the figure");
bar.className = "bar";
pageLink.textContent = "Open as a page";
closeButton.type = "button";
closeButton.textContent = "Close";
bar.append(pageLink, closeButton);
dialog.append(bar, content);
document.body.append(dialog);
closeButton.addEventListener("click", () => dialog.close());
dialog.addEventListener("close", handleClose);
// A click on the backdrop hits the dialog itself.
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
document.addEventListener("click", handleClick);
