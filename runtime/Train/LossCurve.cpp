//===- LossCurve.cpp - A picture of a run ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/LossCurve.h"
#include "runtime/Support/StrCat.h"

#include <algorithm>
#include <cmath>

using namespace gpt2rt;

namespace {

// Pixels.
constexpr double width = 800, height = 450;
constexpr double left = 70, right = 20, top = 40, bottom = 50;
constexpr size_t maxPoints = 1000;

constexpr const char *trainColor = "#1f77b4", *validationColor = "#d62728";

double rounded(double value) { return std::round(value * 100) / 100; }

/// A distance between ticks that gives about five: 1, 2 or 5 times a power of
/// ten.
double tickStep(double range) {
  double rough = range / 5;
  double power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough)
      return factor * power;
  return 10 * power;
}

struct Axis {
  double low = 0, high = 1, tick = 1;
  double from = 0, to = 1; // pixels

  void fit(double smallest, double largest) {
    if (!(largest - smallest > 1e-9 * std::abs(largest)))
      largest = smallest + 1;
    tick = tickStep(largest - smallest);
    low = std::floor(smallest / tick) * tick;
    high = std::ceil(largest / tick) * tick;
  }
  double place(double value) const {
    return rounded(from + (value - low) / (high - low) * (to - from));
  }
};

class Picture {
public:
  Picture(const std::vector<CurvePoint> &train,
          const std::vector<CurvePoint> &validation) {
    x.from = left, x.to = width - right;
    y.from = height - bottom, y.to = top;
    double lowest = INFINITY, highest = -INFINITY, last = 1;
    for (auto *curve : {&train, &validation})
      for (auto [step, loss] : *curve) {
        lowest = std::min(lowest, loss);
        highest = std::max(highest, loss);
        last = std::max(last, step);
      }
    x.fit(0, last);
    x.high = last;
    y.fit(std::isfinite(lowest) ? lowest : 0,
          std::isfinite(highest) ? highest : 1);
  }

  void drawAxes() {
    int ticks = static_cast<int>(std::round((y.high - y.low) / y.tick));
    for (int i = 0; i <= ticks; ++i) {
      double value = y.low + i * y.tick, at = y.place(value);
      line(left, at, width - right, at, "#dddddd");
      text(left - 8, at + 4, "end", strCat(float(rounded(value))));
    }
    for (double value = 0; value <= x.high; value += std::max(x.tick, 1.0)) {
      double at = x.place(value);
      line(at, height - bottom, at, height - bottom + 5, "#333333");
      text(at, height - bottom + 20, "middle", strCat(value));
    }
    line(left, height - bottom, width - right, height - bottom, "#333333");
    line(left, top, left, height - bottom, "#333333");
    text((left + width) / 2, height - 10, "middle", "step");
    text(left - 8, top - 14, "middle", "loss");
  }

  void drawCurve(const std::vector<CurvePoint> &points, const char *color,
                 bool marks) {
    std::string path;
    size_t parts = std::min(points.size(), maxPoints);
    for (size_t i = 0; i < parts; ++i) {
      size_t begin = points.size() * i / parts;
      size_t end = points.size() * (i + 1) / parts;
      double step = points[end - 1].step, sum = 0;
      for (size_t j = begin; j < end; ++j)
        sum += points[j].loss;
      double px = x.place(step), py = y.place(sum / double(end - begin));
      path += strCat(i ? " " : "", px, ",", py);
      if (marks)
        svg += strCat("<circle cx=\"", px, "\" cy=\"", py, "\" r=\"3\" fill=\"",
                      color, "\"/>\n");
    }
    if (parts)
      svg += strCat("<polyline points=\"", path, "\" fill=\"none\" stroke=\"",
                    color, "\" stroke-width=\"1.5\"/>\n");
  }

  void drawLegend(const char *label, const char *color, double at) {
    line(at, top - 18, at + 24, top - 18, color);
    text(at + 30, top - 14, "start", label);
  }

  std::string finish() const {
    return strCat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width,
                  "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ",
                  height, "\" font-family=\"sans-serif\" font-size=\"12\">\n",
                  "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                  svg, "</svg>\n");
  }

private:
  void line(double x1, double y1, double x2, double y2, const char *color) {
    svg += strCat("<line x1=\"", x1, "\" y1=\"", y1, "\" x2=\"", x2, "\" y2=\"",
                  y2, "\" stroke=\"", color, "\"/>\n");
  }
  void text(double px, double py, const char *anchor, std::string_view label) {
    svg += strCat("<text x=\"", px, "\" y=\"", py, "\" text-anchor=\"", anchor,
                  "\">", label, "</text>\n");
  }

  Axis x, y;
  std::string svg;
};

} // namespace

std::string gpt2rt::lossCurveSvg(const std::vector<CurvePoint> &train,
                                 const std::vector<CurvePoint> &validation) {
  Picture picture(train, validation);
  picture.drawAxes();
  picture.drawCurve(train, trainColor, /*marks=*/false);
  picture.drawCurve(validation, validationColor, /*marks=*/true);
  if (!train.empty())
    picture.drawLegend("training", trainColor, left + 20);
  if (!validation.empty())
    picture.drawLegend("validation", validationColor, left + 140);
  return picture.finish();
}
