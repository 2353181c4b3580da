/** In a framed page: tell the document around it how high the page is, and take the mode that it has. */

new ResizeObserver(([{ target }]) => {
  parent.postMessage({ attnWidgetHeight: Math.ceil(target.getBoundingClientRect().height) }, "*");
}).observe(document.querySelector("main"));

window.addEventListener("message", ({ source, data }) => {
  const mode = data?.attnWidgetMode;
  if (source === parent && (mode === "light" || mode === "dark"))
    document.documentElement.className = mode;
});
