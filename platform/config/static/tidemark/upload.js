// Uploads a file as it is chosen: data-upload is where, data-into the select that gets the choice.
// Without a select the form's other fields go into the address, and the page is loaded again.
"use strict";
document.addEventListener("change", async (event) => {
  const input = event.target.closest("input[type=file][data-upload]");
  if (!input || !input.files.length) return;
  const file = input.files[0];
  const said = input.parentElement.querySelector("[data-said]");
  const select = document.getElementById(input.dataset.into);
  const form = input.closest("form");
  const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
  const fields = new URLSearchParams(new FormData(form));
  fields.delete("csrfmiddlewaretoken");
  said.textContent = "Uploading…";
  try {
    const response = await fetch(select ? input.dataset.upload : `${input.dataset.upload}?${fields}`, {
      method: "POST",
      headers: {
        "Content-Type": "application/octet-stream",
        "X-CSRFToken": token,
        "X-File-Name": encodeURIComponent(file.name),
      },
      body: file,
    });
    const answer = await response.json();
    if (!response.ok) {
      said.textContent = typeof answer.error === "string" ? answer.error : "The file is too large, or you are signed out.";
      return;
    }
    if (!select) {
      location.reload();
      return;
    }
    select.add(new Option(answer.label, answer.value, true, true));
    said.textContent = `${file.name} is uploaded and chosen.`;
  } catch {
    said.textContent = "The upload failed: try again.";
  } finally {
    input.value = "";
  }
});
