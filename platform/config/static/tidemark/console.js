// The try-it console: sends a call to this host, and shows what came back as it came.
"use strict";
(() => {
  const STORED = "tidemark-key"; // for this tab alone, and never in an address
  const HEADERS = ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after", "x-bundle-id"];

  // Indents JSON without reading its numbers: 64-bit integers would lose their last digits.
  function indented(text) {
    let depth = 0;
    let out = "";
    const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) || [];
    tokens.forEach((token, place) => {
      const next = tokens[place + 1];
      if (token === "{" || token === "[") {
        const empty = next === "}" || next === "]";
        depth += 1;
        out += token + (empty ? "" : "\n" + "  ".repeat(depth));
      } else if (token === "}" || token === "]") {
        depth -= 1;
        const before = tokens[place - 1];
        out += (before === "{" || before === "[" ? "" : "\n" + "  ".repeat(depth)) + token;
      } else if (token === ",") {
        out += ",\n" + "  ".repeat(depth);
      } else {
        out += token === ":" ? ": " : token;
      }
    });
    return out;
  }

  function shown(text) {
    try {
      JSON.parse(text);
    } catch {
      return text;
    }
    return indented(text);
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function tell(form, word, hue, detail, headers, text) {
    const outcome = form.querySelector(".outcome");
    const line = element("p", "", "line");
    line.append(element("span", word, "word " + hue), element("span", detail, "hint"));
    const parts = [line];
    if (headers.length) {
      const list = document.createElement("dl");
      list.className = "rows headers";
      headers.forEach(([name, value]) => list.append(element("dt", name), element("dd", value)));
      parts.push(list);
    }
    if (text) {
      const block = document.createElement("pre");
      block.tabIndex = 0;
      block.append(element("code", text));
      parts.push(block);
    }
    outcome.replaceChildren(...parts);
    outcome.hidden = false;
  }

  // The request that a form describes, or what is wrong with it.
  function requestOf(form, key) {
    const headers = key ? { Authorization: key } : {};
    if ("get" in form.dataset) {
      const query = new URLSearchParams();
      let path = form.dataset.path;
      for (const input of form.querySelectorAll("input[name]")) {
        const part = `{${input.name}}`;
        const value = input.value.trim();
        if (path.includes(part)) {
          if (!value) return { problem: `${input.name} is empty`, at: input };
          path = path.replace(part, encodeURIComponent(value));
        } else if (value) {
          query.set(input.name, value);
        }
      }
      const text = query.toString();
      return { url: path + (text ? `?${text}` : ""), options: { headers } };
    }
    let { path, method } = form.dataset;
    if ("choose" in form.dataset) [path, method] = form.choice.value.split(" ");
    const params = form.params.value.trim() || "[]";
    try {
      if (!Array.isArray(JSON.parse(params))) return { problem: "params are an array: […]", at: form.params };
    } catch (error) {
      return { problem: `params are no JSON: ${error.message}`, at: form.params };
    }
    // As it was written: reading and writing it would round large integers.
    const body = `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`;
    headers["Content-Type"] = "application/json";
    return { url: path, options: { method: "POST", headers, body } };
  }

  async function send(form) {
    const key = form.querySelector(".key").value.trim();
    if (key && !/^[\x21-\x7e]+( [\x21-\x7e]+)?$/.test(key)) {
      tell(form, "not sent", "warning", "the key has characters that no key has", [], "");
      return;
    }
    const { url, options, problem, at } = requestOf(form, key);
    if (problem) {
      tell(form, "not sent", "warning", problem, [], "");
      at.focus();
      return;
    }
    const button = form.querySelector("button[type=submit]");
    button.disabled = true;
    const started = performance.now();
    try {
      const answer = await fetch(url, { ...options, credentials: "omit", cache: "no-store" });
      const text = await answer.text();
      const spent = Math.round(performance.now() - started);
      const failed = !answer.ok || /^\{"jsonrpc":"2\.0","id":[^,]*,"error":/.test(text);
      const headers = HEADERS.map((name) => [name, answer.headers.get(name)]).filter(([, value]) => value !== null);
      const word = `HTTP ${answer.status}${answer.ok && failed ? ", an error" : ""}`;
      called(form, options.body, `HTTP ${answer.status}${failed && answer.ok ? ", an error" : ""}`);
      tell(form, word, failed ? "warning" : "good", `${spent} ms, ${text.length.toLocaleString("en")} characters`, headers, shown(text));
    } catch {
      tell(form, "no answer", "bad", "the service cannot be reached", [], "");
    } finally {
      button.disabled = false;
    }
  }

  // For the history: what was sent, without the key.
  function called(form, body, outcome) {
    if (!body) return;
    let { path, method } = form.dataset;
    if ("choose" in form.dataset) [path, method] = form.choice.value.split(" ");
    const params = form.params.value.trim() || "[]";
    document.dispatchEvent(new CustomEvent("tidemark:called", { detail: { path, method, params, outcome } }));
  }

  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  // The form's call for a shell. The key stays out of it: it is read from the environment.
  function curl(form) {
    const place = form.querySelector(".curl");
    const { url, options, problem, at } = requestOf(form, "");
    if (problem) {
      tell(form, "no call", "warning", problem, [], "");
      at.focus();
      return;
    }
    const parts = [`curl -sS ${quoted(location.origin + url)}`, '-H "Authorization: $KEY"'];
    if (options.body) {
      const body = options.body.includes("\n") ? options.body.replace(/\s*\n\s*/g, " ") : options.body;
      parts.push("-H 'Content-Type: application/json'", `-d ${quoted(body)}`);
    }
    const name = `curl-${form.dataset.method || "console"}-${[...document.forms].indexOf(form)}`;
    const block = document.createElement("pre");
    block.tabIndex = 0;
    const code = element("code", parts.join(" \\\n     "));
    code.id = name;
    block.append(code);
    const copy = element("button", "Copy", "plain copy");
    copy.type = "button";
    copy.dataset.copy = name;
    place.replaceChildren(copy, block);
    place.hidden = false;
  }

  function fit(area) {
    area.rows = Math.min(24, Math.max(3, area.value.split("\n").length));
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.try")) return;
    event.preventDefault();
    send(event.target);
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches(".key")) {
      sessionStorage.setItem(STORED, event.target.value.trim());
      document.querySelectorAll(".key").forEach((each) => { if (each !== event.target) each.value = event.target.value; });
    }
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("form.try textarea")) fit(event.target);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-curl]");
    if (button) curl(button.form);
  });
  document.addEventListener("change", (event) => {
    if (event.target.id !== "choice") return;
    const { form } = event.target;
    const { params, page } = event.target.selectedOptions[0].dataset;
    form.params.value = params;
    form.querySelector(".curl").hidden = true;
    document.getElementById("described").href = page;
    fit(form.params);
  });
  // `#/historical.getBlock` chooses the method.
  function openChoice() {
    const wanted = decodeURIComponent(location.hash.slice(1)).replace(".", " ");
    const found = choice && [...choice.options].find((option) => option.value === wanted);
    if (!found) return;
    choice.value = wanted;
    choice.dispatchEvent(new Event("change", { bubbles: true }));
  }
  // A type that is linked to opens, wherever the link stands.
  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.matches("details")) {
      target.open = true;
      target.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", () => {
    openTarget();
    openChoice();
  });

  document.querySelectorAll(".key").forEach((each) => { each.value = sessionStorage.getItem(STORED) || ""; });
  document.querySelectorAll("form.try textarea").forEach(fit);
  const choice = document.getElementById("choice");
  if (choice) choice.dispatchEvent(new Event("change", { bubbles: true }));
  openTarget();
  openChoice();
})();
