// Names and roles for screen readers, where the theme's scripts make elements without them.
window.addEventListener("DOMContentLoaded", () => {
  const name = () => {
    for (const box of document.querySelectorAll(".select2-selection[role=combobox]")) {
      const select = box.closest(".select2").previousElementSibling;
      const label = select && document.querySelector(`label[for="${CSS.escape(select.id)}"]`);
      if (!label || box.dataset.named) continue;
      box.dataset.named = "yes";
      label.id ||= `label-${select.id}`;
      const value = box.getAttribute("aria-labelledby");
      box.setAttribute("aria-labelledby", `${label.id} ${value}`);
      // What is chosen is text in this box, not a field of its own.
      const chosen = document.getElementById(value);
      chosen?.removeAttribute("role");
      chosen?.removeAttribute("aria-readonly");
    }
    // Boxes that scroll all have the same name: no landmarks.
    for (const box of document.querySelectorAll(".simplebar-content-wrapper[role=region]")) {
      box.setAttribute("role", "group");
    }
  };
  name();
  new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
});
