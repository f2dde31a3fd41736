// What a report can do beyond being read: tables are sorted, marks of plots say what they stand for. Without it nothing
// is missing but that.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);

  const place = (x, y) => {
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
    tip.style.top = Math.max(4, y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
  };

  for (const figure of document.querySelectorAll("figure.plot")) {
    const canvas = figure.querySelector(".canvas");
    const reading = figure.querySelector(".reading");
    const hits = [...canvas.querySelectorAll(".hit")].filter((hit) => hit.dataset.tip);
    let at = -1;

    const leave = () => {
      tip.hidden = true;
      if (at >= 0) hits[at].classList.remove("at");
    };
    const show = (index, x, y) => {
      leave();
      at = index;
      hits[at].classList.add("at");
      tip.textContent = hits[at].dataset.tip.replaceAll("; ", "\n");
      tip.hidden = false;
      place(x, y);
    };
    const point = (event) => {
      const index = hits.indexOf(event.target);
      if (index < 0) leave();
      else show(index, event.clientX, event.clientY);
    };
    canvas.addEventListener("pointermove", point);
    canvas.addEventListener("pointerdown", point);
    canvas.addEventListener("pointerleave", leave);
    canvas.addEventListener("blur", leave);
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: hits.length - 1 };
      if (event.key === "Escape") {
        leave();
        return;
      }
      if (!(event.key in steps) || hits.length === 0) return;
      event.preventDefault();
      const index = Math.max(0, Math.min(hits.length - 1, steps[event.key]));
      const box = hits[index].getBoundingClientRect();
      show(index, box.x + box.width / 2, box.y + Math.min(box.height / 2, 40));
      reading.textContent = hits[index].dataset.tip;
    });
  }

  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  // Numbers before words, and both in their own order.
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === typeof b) return a.localeCompare(b, "en", { numeric: true });
    return typeof a === "number" ? -1 : 1;
  };
  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    if (!table.tHead || body.rows.length < 2) continue;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.title = "Sort by this column";
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const rows = [...body.rows].sort((a, b) => {
          const [left, right] = [value(a, column), value(b, column)];
          // What has no figure stays at the end.
          if (typeof left !== typeof right) return compare(left, right);
          return sign * compare(left, right);
        });
        body.append(...rows);
      });
    });
  }
})();
