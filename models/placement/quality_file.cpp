#include "models/placement/quality_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/workload/csv_table.h"

namespace kvsim::models {
namespace {

constexpr std::int64_t kEveryOther = -1;  // `*`
constexpr std::array<std::string_view, 4> kColumns{"context", "method", "keep_ratio", "quality"};

std::string written(std::int64_t context) {
  return context == kEveryOther ? "*" : fmt::format("{}", context);
}

double share(const CsvTable& table, const LineReader& lines, std::size_t column, bool zero_allowed) {
  const CsvTable::Field field = table.field(column);
  const double value = table.number(field);
  if (!(value >= 0 && value <= 1) || (value == 0 && !zero_allowed)) {
    lines.fail(field.byte, fmt::format("{} is {}, expected {}, at most 1", field.name, value,
                                       zero_allowed ? "at least 0" : "above 0"));
  }
  return value;
}

std::int64_t context_of(const CsvTable& table, const LineReader& lines) {
  const CsvTable::Field field = table.field(0);
  if (field.text == "*") return kEveryOther;
  const bool digits = !field.text.empty() && field.text.size() <= 15 &&
                      std::all_of(field.text.begin(), field.text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) {
    lines.fail(field.byte, fmt::format("context is \"{}\", expected a number from 0, or * for all others",
                                       field.text.substr(0, 40)));
  }
  return table.whole_number(field);
}

}  // namespace

QualityFile QualityFile::read(const std::string& path) {
  QualityFile file(path);
  LineReader lines = LineReader::open(path, "quality curves");
  file.read_rows(lines);
  return file;
}

QualityFile QualityFile::from_text(const std::string& name, std::string_view text) {
  QualityFile file(name);
  LineReader lines = LineReader::from_text(name, text);
  file.read_rows(lines);
  return file;
}

void QualityFile::read_rows(LineReader& lines) {
  CsvTable table(lines, kColumns);
  while (table.next()) {
    const std::int64_t context = context_of(table, lines);
    const CsvTable::Field method = table.field(1);
    if (method.text.empty()) lines.fail(method.byte, "method is empty, expected the name of a compressor");
    const double keep = share(table, lines, 2, false), quality = share(table, lines, 3, true);
    Curve& curve = curves_[{context, std::string(method.text)}];
    const auto at = std::lower_bound(curve.begin(), curve.end(), keep,
                                     [](const Point& point, double ratio) { return point.keep < ratio; });
    if (at != curve.end() && at->keep == keep) {
      lines.fail(table.field(2).byte,
                 fmt::format("keep_ratio {} of context {}, {} is there already (line {}), expected "
                             "it once",
                             keep, written(context), method.text, at->line));
    }
    curve.insert(at, {keep, quality, lines.line_number()});
  }
  if (curves_.empty()) fail(1, "has a header and no curve, expected rows such as 0,kvzip,0.25,0.97");
  check();
}

void QualityFile::check() const {
  for (const auto& [key, curve] : curves_) {
    for (std::size_t i = 1; i < curve.size(); ++i) {
      const Point &less = curve[i - 1], &more = curve[i];
      if (less.quality <= more.quality) continue;
      fail(less.line,
           fmt::format("quality {} at keep ratio {} is above the {} at {} (line {}) for context {}, {}: "
                       "expected a curve that does not rise as less is kept",
                       less.quality, less.keep, more.quality, more.keep, more.line, written(key.first), key.second));
    }
  }
}

void QualityFile::fail(int line, const std::string& message) const {
  throw schema::InputError(fmt::format("{}:{}: {}", name_, line, message));
}

const QualityFile::Curve* QualityFile::curve_of(std::int64_t context, std::string_view method) const {
  const std::string name(method);
  auto found = curves_.find({context, name});
  if (found == curves_.end()) found = curves_.find({kEveryOther, name});
  return found == curves_.end() ? nullptr : &found->second;
}

std::optional<double> QualityFile::quality(std::int64_t context, std::string_view method, double keep) const {
  const Curve* curve = curve_of(context, method);
  if (!curve || keep < curve->front().keep) return std::nullopt;
  const auto above = std::lower_bound(curve->begin(), curve->end(), keep,
                                      [](const Point& point, double ratio) { return point.keep < ratio; });
  if (above != curve->end() && above->keep == keep) return above->quality;
  const Point after = above == curve->end() ? Point{} : *above;
  const Point before = *(above - 1);
  if (after.keep <= before.keep) return before.quality;
  return before.quality + (after.quality - before.quality) * (keep - before.keep) / (after.keep - before.keep);
}

QualityTable QualityFile::curves(std::size_t contexts, const OptionPool& pool) const {
  QualityTable table(pool.size());
  std::vector<float> scores(pool.size());
  for (std::size_t context = 0; context < contexts; ++context) {
    const auto number = static_cast<std::int64_t>(context);
    for (std::size_t i = 0; i < pool.size(); ++i) {
      const StorageOption& option = pool.all()[i];
      double score = 1;
      if (!option.method.empty()) {
        const Curve* curve = curve_of(number, option.method);
        if (!curve) {
          throw schema::InputError(fmt::format("{}: context {} has no curve of {}, expected rows for it, or for *",
                                               name_, context, option.method));
        }
        const auto found = quality(number, option.method, option.attended_share());
        if (!found) {
          fail(curve->front().line,
               fmt::format("the curve of context {}, {} ends at keep ratio {}, expected rows down to {}, which option "
                           "\"{}\" keeps",
                           context, option.method, curve->front().keep, option.attended_share(), option.name));
        }
        score = *found;
      }
      scores[i] = static_cast<float>(score * option.quantised_quality);
    }
    table.add(scores);
  }
  return table;
}

}  // namespace kvsim::models
