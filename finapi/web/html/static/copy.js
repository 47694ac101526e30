// A button on every piece of code: it copies the text. Browsers let pages do so over https and on localhost only.
for (const code of navigator.clipboard ? document.querySelectorAll("pre > code:not(:empty)") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  });
  code.after(button);
}
