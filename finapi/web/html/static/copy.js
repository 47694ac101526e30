// A button on every code block that copies its text. Browsers allow this over https and on localhost only.
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
