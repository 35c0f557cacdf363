// Buttons that copy the text they hold. Without scripts they stay hidden.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  const copied = () => { button.textContent = "Copied"; };
  // Some browsers give a page that is opened as a file no clipboard: then by a selection.
  const bySelection = () => {
    const area = document.createElement("textarea");
    area.value = button.dataset.copy;
    button.after(area);
    area.select();
    if (document.execCommand("copy")) copied();
    area.remove();
    button.focus();
  };
  button.addEventListener("click", () => {
    if (!navigator.clipboard) return bySelection();
    navigator.clipboard.writeText(button.dataset.copy).then(copied, bySelection);
  });
}
