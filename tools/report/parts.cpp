#include "tools/report/parts.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "tools/results/metrics.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

/// An interval is not known to more: "7.1", "0.052", "1,234".
std::string two_digits(double value) {
  if (value >= 9.95) return results::with_commas(fmt::format("{:.0f}", value));
  return value >= 0.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2g}", value);
}

}  // namespace

Cell cell(double value, std::string (*print)(double)) {
  if (!std::isfinite(value)) return {"-"};
  return {print(value), value};
}

Cell cell(double value, double half_width, std::string (*print)(double)) {
  Cell one = cell(value, print);
  if (one.value && half_width > 0) {
    one.text += " " + results::plus_minus(half_width, print == results::figure ? two_digits : print);
  }
  return one;
}

std::string interval_text(double value, double half_width, std::string (*print)(double)) {
  return cell(value, half_width, print).text;
}

std::string numbered(std::string_view id, std::size_t index) {
  return index == 0 ? std::string(id) : fmt::format("{}-{}", id, index + 1);
}

std::string metric_name(std::string_view path) {
  if (path == "throughput.output_tokens_per_s") return "output tokens/s";
  if (path == "throughput.output_tokens_per_s_per_gpu") return "output tokens/s per GPU";
  if (path == "throughput.requests_per_s") return "requests/s";
  if (path == "slo.attainment") return "share within SLO";
  if (path == "slo.goodput_requests_per_s") return "goodput in requests/s";
  constexpr std::string_view latency = "latency_s.";
  if (path.starts_with(latency)) {
    std::string name(path.substr(latency.size()));
    const std::size_t dot = std::min(name.find('.'), name.size());
    for (std::size_t i = 0; i < dot; ++i)
      name[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
    if (dot < name.size()) name[dot] = ' ';
    return name;
  }
  return std::string(path);
}

/// Paths of other documents than those of runs have no row in the table of metrics: their ends say what they are.
std::string printed(std::string_view path, double value) {
  const results::Metric* row = results::find_metric(path);
  if (row != nullptr && row->unit.print != nullptr) return row->unit.print(value);
  const auto ends = [path](std::string_view end) { return path.ends_with(end); };
  const bool rate = path.find("per_s") != std::string_view::npos;
  const bool time = path.starts_with("latency_s.") || ends("_s") || path.find("_s.") != std::string_view::npos;
  if (rate)
    return path.find("bytes_per_s") != std::string_view::npos ? results::bytes(value) + "/s" : results::figure(value);
  if (ends("bytes") || ends("bytes_peak")) return results::bytes(value);
  if (ends("utilisation") || ends("share") || ends("attainment") || ends("hit_rate") || ends("fraction") ||
      path.starts_with("gpu.bound_by.")) {
    return results::percent(value);
  }
  return time ? results::seconds(value) : results::figure(value);
}

std::string on_one_line(std::string points) {
  std::replace(points.begin(), points.end(), '\n', ' ');
  return points;
}

std::string usd(double value) {
  constexpr double cents_below = 1000;
  return std::isfinite(value) ? "$" + results::with_commas(fmt::format("{:.{}f}", value, value < cents_below ? 2 : 0))
                              : "-";
}

std::string whole_percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.0f} %", share * 100) : "-";
}

std::string plain(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "-";
}

std::string scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  if (value.is_number()) return plain(value.get<double>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return value.is_null() ? "-" : value.dump();
}

std::string plan_text(const Json& point) {
  const auto x = number(point, {"x"}), c = number(point, {"c"});
  if (!x || !c) return {};
  if (*x == 0 && *c == 1) return "full KV, no drafting";
  std::string said =
      *x == 0 ? fmt::format("c = {}, no drafting", plain(*c)) : fmt::format("x = {}, c = {}", plain(*x), plain(*c));
  if (const auto offloaded = number(point, {"B_c"})) {
    said += fmt::format(", {} offloaded and {} resident requests", plain(*offloaded),
                        plain(number(point, {"B_g"}).value_or(0)));
    if (const auto l = number(point, {"l"})) said += fmt::format(", reloads spread over {}", plain(*l));
  } else if (text(point, {"B_c"}) == "open") {
    said += ", as many requests as fit";
  }
  return said;
}

double half_width(const Json& result, std::string_view metric) {
  return number_or_nan(result, {"confidence", metric, "half_width_95"});
}

std::string scenario_of(const Json& document) {
  return text(document, {"scenario"});
}

Plot plot_of(std::string id, std::string title, std::string caption, std::vector<page::Column> columns) {
  Table data = table(title, std::move(columns));
  return {std::move(id), std::move(title), std::move(caption), {}, {}, std::move(data)};
}

Plot stacked(const std::vector<Simulated>& runs, Stacks stacks) {
  Plot p = plot_of(std::move(stacks.id), std::move(stacks.title), std::move(stacks.caption), {{"policy"}});
  plot::Bars bars;
  bars.x_title = std::move(stacks.x_title);
  for (const std::string& part : stacks.parts) p.data.add({part, true});
  for (const Simulated& run : runs) {
    std::vector<Cell> row{run.policy};
    plot::Bar bar{run.policy, {}, stacks.behind ? stacks.behind(run.result) : std::string()};
    double end = 0;
    for (std::size_t i = 0; i < stacks.parts.size(); ++i) {
      const double size = stacks.of(run.result, i);
      row.push_back(cell(size, stacks.print));
      if (!(size > 0)) continue;
      bar.parts.push_back({end / stacks.unit, (end + size) / stacks.unit, i,
                           fmt::format("{}: {}: {}", run.policy, stacks.parts[i], stacks.print(size))});
      end += size;
    }
    p.data.rows.push_back(std::move(row));
    bars.bars.push_back(std::move(bar));
  }
  p.legend = std::move(stacks.parts);
  return with_drawing(std::move(p), std::move(bars));
}

}  // namespace kvsim::report
