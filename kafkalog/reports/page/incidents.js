// Incidents: a button to copy each command, one field for the HOST:PORT of all, and what is unfolded for print.
function incidents() {
  for (const line of document.querySelectorAll("pre.command")) {
    const button = make("button", "Copy", { type: "button", class: "copy" });
    button.addEventListener("click", () => copy(line.querySelector("code").textContent, button));
    line.before(button);
  }
  $("host")?.addEventListener("input", (event) => {
    const typed = event.target.value.trim(), fine = /^[\w.:,[\]-]*$/.test(typed);
    event.target.setAttribute("aria-invalid", String(!fine));
    $("host-said").textContent = fine ? "" : "Letters, digits and . : , - _ [ ] only: it goes into commands.";
    if (fine) for (const place of document.querySelectorAll(".host")) place.textContent = typed || "HOST:PORT";
  });
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details.incident.error:not([open])")];
    for (const one of unfolded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of unfolded) one.open = false;
  });
}

// Unfold all that a part of the page is in, and go to it.
function reveal(id) {
  const found = $(id);
  if (!found) return false;
  for (let one = found; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  found.scrollIntoView();
  return true;
}

function theme(recolour) {
  const choice = $("theme");
  const take = (name) => {
    if (name === "light" || name === "dark") document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    recolour();
  };
  try {
    choice.value = localStorage.getItem("kafkalog-colours") ?? "system";
  } catch {} // a page of a file may have no storage
  if (choice.selectedIndex === -1) choice.value = "system";
  take(choice.value);
  choice.addEventListener("change", () => {
    take(choice.value);
    try {
      localStorage.setItem("kafkalog-colours", choice.value);
    } catch {}
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
}
