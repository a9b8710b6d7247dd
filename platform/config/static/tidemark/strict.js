// The theme's attributes that are more than an expression, in words that Alpine's CSP build
// evaluates. It runs before Alpine reads the page. An attribute that a new version of the theme
// brings and the build does not know is an error in the console, which the browser tests report.
document.addEventListener("alpine:init", () => {
  const rewrite = (attribute, holds, made) => {
    for (const element of document.querySelectorAll(`[${CSS.escape(attribute)}]`)) {
      const found = element.getAttribute(attribute);
      if (found.includes(holds)) element.setAttribute(attribute, made(found));
    }
  };
  const OPEN = "sidebarDesktopOpen";
  const body = document.body;
  const first = /activeTab: '([^']*)'/.exec(body.getAttribute("x-data") || "");

  // Functions of the page are no names of an expression; components are.
  window.Alpine.data("theme", window.theme);
  window.Alpine.data("searchForm", window.searchForm);
  window.Alpine.data("page", () => ({
    activeTab: first ? window.getCurrentTab() || first[1] : "",
    sidebarMobileOpen: false,
    sidebarDesktopOpen: localStorage.getItem(OPEN) !== "0",
    init() {
      this.$watch(OPEN, (value) => localStorage.setItem(OPEN, value ? "1" : "0"));
    },
    formAddress() {
      const { pathname, search } = window.location;
      const tab = this.activeTab && this.activeTab !== "general" ? `#${this.activeTab}` : "";
      return pathname + search + tab;
    },
  }));

  body.setAttribute("x-data", "page");
  body.removeAttribute("x-init");
  rewrite("x-bind:action", "window.location", () => "formAddress()");
  rewrite("x-on:click", "localStorage", () => `${OPEN} = !${OPEN}`);
});
