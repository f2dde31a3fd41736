#include "models/placement/quality_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "models/schema/error.h"
#include "models/workload/csv_table.h"

namespace kvsim::models {

CurveIndex QualityTable::add(std::span<const float> by_option) {
  if (by_option.size() != options_) throw std::invalid_argument("a quality curve needs one score for each option");
  const auto index = static_cast<CurveIndex>(curves());
  values_.insert(values_.end(), by_option.begin(), by_option.end());
  return index;
}

void QualityTable::replace(CurveIndex curve, std::span<const float> by_option) {
  if (by_option.size() != options_) throw std::invalid_argument("a quality curve needs one score for each option");
  std::copy(by_option.begin(), by_option.end(), values_.begin() + static_cast<std::ptrdiff_t>(curve * options_));
}

namespace {

constexpr double kPublishedKeep = 0.1;  // the sensitivities are those with 90 % removed
constexpr double kLeastLoss = 0.01;

/// `x` folded back at both ends of [least, most].
double reflected(double x, double least, double most) {
  const double width = most - least;
  const double at = std::fmod(std::abs(x - least), 2 * width);
  return least + (at <= width ? at : 2 * width - at);
}

/// Loss by dropping tokens in an option: the quantiser's part taken out.
double loss_in(float quality, const StorageOption& option) {
  if (option.method.empty() || !(option.quantised_quality > 0)) return 0;
  return std::clamp(1 - static_cast<double>(quality) / option.quantised_quality, 0.0, 1.0);
}

}  // namespace

Sensitivity sensitivity_of(const DatasetSpec& dataset) {
  return {dataset.sensitivity.value, dataset.loss_cv.value};
}

std::vector<Sensitivity> prefix_sensitivities(const SharedPrefixSpec& prefixes) {
  std::vector<Sensitivity> of(static_cast<std::size_t>(std::max<std::int64_t>(prefixes.count, 0)), default_sensitivity);
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (const DatasetSpec* dataset = prefixes.dataset_of(i)) of[i] = sensitivity_of(*dataset);
  }
  return of;
}

std::vector<Sensitivity> block_sensitivities(std::span<const DatasetSpec> datasets) {
  std::vector<Sensitivity> of(block_curves, default_sensitivity);
  if (datasets.empty()) return of;
  for (std::size_t i = 0; i < of.size(); ++i) of[i] = sensitivity_of(datasets[i % datasets.size()]);
  return of;
}

MethodFamily family_of(std::string_view method) {
  const std::string_view stem = method.substr(0, method.find_first_of("- "));
  if (stem == "kvzip") return MethodFamily::kvzip;
  if (stem == "knorm") return MethodFamily::knorm;
  if (stem == "snapkv") return MethodFamily::snapkv;
  if (stem == "keydiff") return MethodFamily::keydiff;
  return MethodFamily::other;
}

ContextLoss draw_context(const Sensitivity& sensitivity, const QualitySpec& spec, RandomSource& random) {
  ContextLoss context;
  const double spread = sensitivity.median_loss * sensitivity.loss_cv;
  context.keydiff = std::clamp(sensitivity.median_loss + spread * random.normal(), 0.0, 1.0);
  const double named = spec.best_kvzip + spec.best_knorm + spec.best_snapkv;
  const double at = random.uniform() * (named + spec.best_keydiff);
  context.best = at < spec.best_kvzip                     ? MethodFamily::kvzip
                 : at < spec.best_kvzip + spec.best_knorm ? MethodFamily::knorm
                 : at < named || !(spec.best_keydiff > 0) ? MethodFamily::snapkv
                                                          : MethodFamily::keydiff;
  return context;
}

double loss_factor(double keep, double shape) {
  return keep >= 1 ? 0 : std::pow((1 - keep) / (1 - kPublishedKeep), shape);
}

double loss_of(const ContextLoss& context, MethodFamily method, double keep, const QualitySpec& spec) {
  double factor = spec.disadvantage;
  if (method == context.best) factor = spec.advantage;
  if (method == MethodFamily::keydiff) factor = 1;
  return std::clamp(context.keydiff * factor * loss_factor(keep, spec.shape), 0.0, 1.0);
}

std::vector<float> generated_curve(const ContextLoss& context, const OptionPool& pool, const QualitySpec& spec) {
  std::vector<float> curve;
  curve.reserve(pool.size());
  for (const StorageOption& option : pool.all()) {
    const double loss =
        option.method.empty() ? 0 : loss_of(context, family_of(option.method), option.attended_share(), spec);
    curve.push_back(static_cast<float>((1 - loss) * option.quantised_quality));
  }
  return curve;
}

std::vector<float> drifted_curve(std::span<const float> curve, const OptionPool& pool, double magnitude, double shape,
                                 RandomSource& random) {
  const double step = magnitude * random.normal();
  const auto options = pool.all();
  // The loss at keep ratio 0.1, from the options that drop most: of those that drop little, rounding says too much.
  double most = 0, before = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double factor = options[i].method.empty() ? 0 : loss_factor(options[i].attended_share(), shape);
    if (factor <= 0 || factor < most) continue;
    const double loss = loss_in(curve[i], options[i]) / factor;
    before = factor > most ? loss : std::max(before, loss);
    most = factor;
  }
  before = std::min(before, 1.0);
  const double after = reflected(before + step, kLeastLoss, 1);
  std::vector<float> drifted(curve.begin(), curve.end());
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const StorageOption& option = options[i];
    if (option.method.empty()) continue;
    const double loss =
        before > 0 ? loss_in(curve[i], option) * (after / before) : after * loss_factor(option.attended_share(), shape);
    drifted[i] = static_cast<float>((1 - std::clamp(loss, 0.0, 1.0)) * option.quantised_quality);
  }
  return drifted;
}

std::vector<float> estimated_curve(std::span<const float> curve, const OptionPool& pool, std::span<const double> error,
                                   double shape) {
  std::vector<float> estimated(curve.begin(), curve.end());
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const StorageOption& option = pool.all()[i];
    if (option.method.empty()) continue;
    const double loss = loss_in(curve[i], option) + error[i] * loss_factor(option.attended_share(), shape);
    estimated[i] = static_cast<float>((1 - std::clamp(loss, 0.0, 1.0)) * option.quantised_quality);
  }
  return estimated;
}

std::vector<std::string> quality_assumptions(const QualitySpec& spec, std::span<const DatasetSpec> datasets) {
  if (spec.source == QualitySource::file) {
    return {
        "Quality curves come from a file; options that quantise, too, multiply them by the quantiser's published "
        "relative score."};
  }
  std::vector<std::string> said{
      "Quality curves are generated, not measured: each context's loss with 90 % removed by KeyDiff is drawn from a "
      "normal distribution around its dataset's published median, held within [0, 1].",
      spec.best_keydiff > 0
          ? fmt::format("Of all contexts, {:.3g} suit KVzip best, {:.3g} Knorm, {:.3g} SnapKV and {:.3g} KeyDiff.",
                        spec.best_kvzip, spec.best_knorm, spec.best_snapkv, spec.best_keydiff)
          : fmt::format("Of all contexts, {:.3g} suit KVzip best, {:.3g} Knorm and {:.3g} SnapKV (EvicPress publishes "
                        "0.4, 0.4 and 0.2).",
                        spec.best_kvzip, spec.best_knorm, spec.best_snapkv),
      fmt::format("The method that suits a context best loses {:.3g} times what KeyDiff loses, every other method "
                  "{:.3g} times.",
                  spec.advantage, spec.disadvantage),
      fmt::format("The loss at keep ratio c is that at 0.1, times ((1 - c)/0.9)^{:.3g}.", spec.shape),
      "A quantiser loses what its published relative score says, alike for all "
      "contexts and independently of dropped tokens.",
  };
  if (datasets.empty()) {
    said.push_back(
        fmt::format("Contexts come from no named dataset: their median loss is taken as {:.4g}, the median of "
                    "the six published ones, with a coefficient of variation of {:.3g}.",
                    default_sensitivity.median_loss, default_sensitivity.loss_cv));
  }
  for (const DatasetSpec& dataset : datasets) {
    if (dataset.loss_cv.source.kind != schema::SourceKind::assumption) continue;
    said.push_back(fmt::format("Losses within {} spread by {:.3g} of their median ({}).", dataset.name,
                               dataset.loss_cv.value, dataset.loss_cv.source.reference));
  }
  return said;
}

std::vector<std::string> drift_assumptions(const DriftSpec& spec) {
  if (spec.every_s <= 0) return {};
  return {
      fmt::format("Drift of queries is generated: a context's loss at keep ratio 0.1 changes every {:.6g} s on "
                  "average by a normal step of {:.3g}, its losses in all options in proportion.",
                  spec.every_s, spec.magnitude)};
}

std::vector<std::string> profile_assumptions(const ProfilingSpec& spec) {
  if (spec.noise <= 0) return {};
  return {
      fmt::format("Profiles rest on {} {} a context and are off by a normal error for each method, independently "
                  "of the others: its loss at keep ratio 0.1 by {:.3g} between queries.",
                  spec.queries, spec.queries == 1 ? "query" : "queries", spec.noise)};
}

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
                 fmt::format("keep_ratio {} of context {}, {} is there already (line {}), expected it once", keep,
                             written(context), method.text, at->line));
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
