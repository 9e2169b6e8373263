"use strict";
(() => {
  const most = 12;
  const root = document.documentElement.dataset.root;
  const box = document.querySelector("#search");
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length
      ? PAGES.filter(([title]) => words.every((word) => title.toLowerCase().includes(word))) : [];
    document.querySelector("#hits-of-search").textContent = words.length ? `${found.length} found` : "";
    document.querySelector("#results").replaceChildren(...found.slice(0, most).map(([title, page]) => {
      const [item, link] = [document.createElement("li"), document.createElement("a")];
      link.href = root + page;
      link.textContent = title;
      item.append(link);
      return item;
    }));
  });
})();
