(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("readings").textContent);
  var picture = document.getElementById("timeline");
  var line = document.getElementById("cursor");
  var out = document.getElementById("readout");
  var first = out.textContent;
  function show(event) {
    var box = picture.getBoundingClientRect();
    var x = ((event.clientX - box.left) / box.width) * data.width;
    var share = (x - data.left) / (data.right - data.left);
    if (share < 0 || share > 1) {
      return hide();
    }
    var at = Math.min(Math.floor(share / data.share), data.columns.length - 1);
    var row = data.columns[at];
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    line.style.visibility = "visible";
    out.textContent = row[0] + ": wanted " + row[1] + ", paid " + row[2] + ", at work " + row[3];
  }
  function hide() {
    line.style.visibility = "hidden";
    out.textContent = first;
  }
  picture.addEventListener("pointermove", show);
  picture.addEventListener("pointerdown", show);
  picture.addEventListener("pointerleave", hide);
})();
