// Line charts as SVG.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <examples/support/plot.hpp>

namespace support {

namespace {

constexpr double chart_width = 400, height = 300, left = 60, right = 20, top = 84, bottom = 48;
constexpr std::array colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7"};  // told apart by everyone (Okabe and Ito)

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

// The distance of about five marks up to `most`: 1, 2 or 5 times a power of ten.
double step_for(double most) {
  const double rough = most / 5, power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

class Panel {
 public:
  Panel(const Plot& plot, const Chart& chart, double offset, std::string& out) : plot_(plot), chart_(chart), offset_(offset), out_(out) {
    for (const auto& line : chart.lines) most_ = (std::max)(most_, *std::ranges::max_element(line));
    if (!(most_ > 0) || !std::isfinite(most_)) most_ = 1;
    step_ = step_for(most_);
    most_ = step_ * std::ceil(most_ / step_);
  }

  void draw() {
    text(left_edge(), top - 14, "start", chart_.title, "font-weight=\"bold\"");
    for (double mark = 0; mark <= most_ * 1.001; mark += step_) {
      add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", left_edge(), y(mark),
          offset_ + chart_width - right, y(mark), mark == 0 ? "#333" : "#ddd");
      text(left_edge() - 6, y(mark) + 4, "end", fmt::format("{:g}", mark));
    }
    for (double mark : plot_.x) text(x(mark), height - bottom + 18, "middle", fmt::format("{:g}", mark));
    text((left_edge() + offset_ + chart_width - right) / 2, height - 10, "middle", plot_.x_label);
    for (std::size_t i = 0; i < chart_.lines.size(); ++i) line(chart_.lines[i], colours[i % colours.size()]);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), form, std::forward<Args>(args)...);
  }
  void text(double at_x, double at_y, const char* anchor, const std::string& words, const char* style = "") {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", at_x, at_y, anchor, style, escaped(words));
  }
  void line(const std::vector<double>& values, const char* colour) {
    std::string points;
    for (std::size_t i = 0; i < values.size(); ++i)
      fmt::format_to(std::back_inserter(points), "{}{:.1f},{:.1f}", i == 0 ? "" : " ", x(plot_.x[i]), y(values[i]));
    add("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", points, colour);
    for (std::size_t i = 0; i < values.size(); ++i)
      add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x(plot_.x[i]), y(values[i]), colour);
  }

  double left_edge() const { return offset_ + left; }
  double x(double value) const { return left_edge() + value / plot_.x.back() * (chart_width - left - right); }
  double y(double value) const { return height - bottom - value / most_ * (height - top - bottom); }

  const Plot& plot_;
  const Chart& chart_;
  double offset_, most_ = 0, step_ = 1;
  std::string& out_;
};

}  // namespace

std::string to_svg(const Plot& plot) {
  const double width = chart_width * static_cast<double>(plot.charts.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\" width=\"{:g}\" height=\"{:g}\" role=\"img\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<title>{}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"{:g}\" y=\"22\" font-size=\"15\">{}</text>\n",
      width, height, width, height, escaped(plot.title), left, escaped(plot.title));
  double at = left;
  for (std::size_t i = 0; i < plot.names.size(); ++i) {
    fmt::format_to(std::back_inserter(out),
                   "<line x1=\"{0:g}\" y1=\"42\" x2=\"{1:g}\" y2=\"42\" stroke=\"{2}\" stroke-width=\"2\"/>\n"
                   "<text x=\"{3:g}\" y=\"46\">{4}</text>\n",
                   at, at + 18, colours[i % colours.size()], at + 24, escaped(plot.names[i]));
    at += 50 + 6.5 * static_cast<double>(plot.names[i].size());
  }
  for (std::size_t i = 0; i < plot.charts.size(); ++i) Panel(plot, plot.charts[i], chart_width * static_cast<double>(i), out).draw();
  return out + "</svg>\n";
}

}  // namespace support
