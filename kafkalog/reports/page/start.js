// The address names what is shown: #incident-…, #table-…, #timeline?…; back and forward go through what was.
const links = {
  push: (hash) => history.pushState(null, "", hash || location.pathname + location.search),
  later: (hash) => {
    clearTimeout(links.timer);
    links.timer = setTimeout(() => history.replaceState(null, "", hash || location.pathname + location.search), 250);
  },
};

let shownBoard = null;
function follow() {
  clearTimeout(links.timer);
  const hash = decodeURI(location.hash);
  if (hash.startsWith("#timeline?")) {
    shownBoard?.open(new URLSearchParams(location.hash.slice(10)));
    $("timeline")?.scrollIntoView();
  } else if (hash.length > 1) reveal(hash.slice(1));
  else shownBoard?.open(new URLSearchParams());
}

document.body.classList.add("with-script");
incidents();
tables();
(about ? transactions().then((data) => (shownBoard = board(timelineOf(data)))) : Promise.resolve()).then(() => {
  theme(() => shownBoard?.recolour());
  if (location.hash) follow();
  addEventListener("popstate", follow);
  document.body.classList.add("ready");
});
