// A suggested value becomes a field's: data-fill is the field, data-value the value.
"use strict";
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-fill]");
  const field = button && document.getElementById(button.dataset.fill);
  if (!field) return;
  field.value = button.dataset.value;
  field.focus();
});
