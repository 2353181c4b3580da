/** In a framed page: tell the document around it how high the page is. */
new ResizeObserver(([{ target }]) => {
  parent.postMessage({ attnWidgetHeight: Math.ceil(target.getBoundingClientRect().height) }, "*");
}).observe(document.querySelector("main"));
