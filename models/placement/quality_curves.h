// Quality curves: what each context scores in each storage option, relative to its whole KV. Generated from what is
// published of data sets, and made to drift.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/workload/dataset.h"
#include "models/workload/distributions.h"
#include "models/workload/line_reader.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {

// Relative task score of every curve (a context's, or one that many objects share) in every storage option.

using CurveIndex = std::uint32_t;

class QualityTable {
 public:
  /// For a pool of this many options; no curve yet.
  explicit QualityTable(std::size_t options) : options_(options) {}

  /// Adds a curve: the score in [0, 1] of each option, in the pool's order. Throws std::invalid_argument for another
  /// number of them.
  CurveIndex add(std::span<const float> by_option);

  [[nodiscard]] float quality(CurveIndex curve, OptionIndex option) const {
    return values_[std::size_t{curve} * options_ + option];
  }
  [[nodiscard]] std::span<const float> curve(CurveIndex curve) const {
    return std::span(values_).subspan(std::size_t{curve} * options_, options_);
  }
  /// Replaces a curve: it drifted, or was profiled again.
  void replace(CurveIndex curve, std::span<const float> by_option);

  [[nodiscard]] std::size_t curves() const { return options_ == 0 ? 0 : values_.size() / options_; }
  [[nodiscard]] std::size_t options() const { return options_; }

 private:
  std::size_t options_ = 0;
  std::vector<float> values_;
};

/// How much the contexts of a kind lose where KeyDiff keeps a tenth of their tokens.
struct Sensitivity {
  double median_loss = 0;  ///< share of the score, in [0, 1]
  double loss_cv = 0;      ///< standard deviation / median over contexts, before the bounds apply
};

/// Sensitivity of contexts from no named data set, an assumption: the median of the six published medians and the
/// spread that the shipped data sets have.
inline constexpr Sensitivity default_sensitivity{0.6785, 0.2};

[[nodiscard]] Sensitivity sensitivity_of(const DatasetSpec& dataset);

/// One for each shared prefix, in order.
[[nodiscard]] std::vector<Sensitivity> prefix_sensitivities(const SharedPrefixSpec& prefixes);

/// Curves that blocks share, because blocks are too many for one each.
inline constexpr std::size_t block_curves = 64;
/// One for each of the block_curves; data sets take turns. Without any all are default_sensitivity.
[[nodiscard]] std::vector<Sensitivity> block_sensitivities(std::span<const DatasetSpec> datasets);

/// The methods whose curves are generated one beside the other. Every other method loses as `other`.
enum class MethodFamily : std::uint8_t { kvzip, knorm, snapkv, keydiff, other };

/// By the name of a compressor, with what stands after a hyphen or a blank left out: "kvzip", "kvzip-qwen" and
/// "kvzip (changed)" are one family.
[[nodiscard]] MethodFamily family_of(std::string_view method);

/// One context as drawn.
struct ContextLoss {
  double keydiff = 0;                       ///< loss with a tenth kept by KeyDiff, in [0, 1]
  MethodFamily best = MethodFamily::kvzip;  ///< the method that loses least
};

/// Draws a context: the loss is normal around the median and held within [0, 1], which leaves the median what it is
/// and takes a little off the spread where a bound is near; the best method follows QualitySpec's shares. Always one
/// normal and one uniform number, so that neither options nor shares nor sensitivities move other contexts' draws.
[[nodiscard]] ContextLoss draw_context(const Sensitivity& sensitivity, const QualitySpec& spec, RandomSource& random);

/// ((1 - c)/0.9)^shape: the loss with a share c of the tokens kept / the loss with a tenth kept. Falls with c.
[[nodiscard]] double loss_factor(double keep, double shape);

/// The loss of a method that keeps `keep` of a context's tokens: KeyDiff's, times `advantage` for the context's best
/// method and `disadvantage` for any other but KeyDiff itself, times loss_factor; in [0, 1].
[[nodiscard]] double loss_of(const ContextLoss& context, MethodFamily method, double keep, const QualitySpec& spec);

/// The context's score in each option of the pool: what dropping tokens leaves, times the quantiser's own score.
[[nodiscard]] std::vector<float> generated_curve(const ContextLoss& context, const OptionPool& pool,
                                                 const QualitySpec& spec);

/// `curve` after a change of the queries: the loss at keep ratio 0.1 by the worst method of the pool takes a normal
/// step of standard deviation `magnitude`, reflected so that it stays within [0.01, 1] (from below, because a context
/// that loses nothing would forget which method suits it); all losses of dropped tokens change in proportion, and a
/// curve without any gets losses that follow `shape`. Takes one normal number.
[[nodiscard]] std::vector<float> drifted_curve(std::span<const float> curve, const OptionPool& pool, double magnitude,
                                               double shape, RandomSource& random);

/// `curve` as profiled: each option's loss is off by its `error` (the error of its method's loss at keep ratio 0.1),
/// times loss_factor, and held within [0, 1]. The whole object and quantisers are not.
[[nodiscard]] std::vector<float> estimated_curve(std::span<const float> curve, const OptionPool& pool,
                                                 std::span<const double> error, double shape);

/// Assumptions of curves, in sentences for results: for these data sets, or for none.
[[nodiscard]] std::vector<std::string> quality_assumptions(const QualitySpec& spec,
                                                           std::span<const DatasetSpec> datasets = {});
/// Assumptions of drift; nothing where there is none.
[[nodiscard]] std::vector<std::string> drift_assumptions(const DriftSpec& spec);
/// Assumptions of profiles that are off; nothing where they are right.
[[nodiscard]] std::vector<std::string> profile_assumptions(const ProfilingSpec& spec);

// Quality curves measured elsewhere, from a CSV file with the columns context, method, keep_ratio, quality:
//
//   context,method,keep_ratio,quality
//   0,kvzip,0.25,0.97
//   0,kvzip,0.1,0.81
//   *,kvzip,0.1,0.7
//
// A context is a number from 0 (shared prefixes: by popularity), or `*` for all contexts that have no row of that
// method. A curve is linear between its keep ratios and 1 where everything is kept, unless the file says otherwise. It
// may not rise as less is kept.

class QualityFile {
 public:
  /// Throws schema::InputError with file and line for rows that say nothing sensible: no number or share, a keep ratio
  /// twice, a curve that rises.
  static QualityFile read(const std::string& path);
  /// Reads from memory; `name` stands for the file's in messages.
  static QualityFile from_text(const std::string& name, std::string_view text);

  /// The score of a method that keeps this share of a context's tokens; none where neither the context nor `*` has a
  /// row of the method, or none that keeps as little.
  [[nodiscard]] std::optional<double> quality(std::int64_t context, std::string_view method, double keep) const;

  /// One curve for each of so many contexts: options that drop tokens as the file says of their method, times the
  /// quantiser's own score. Throws schema::InputError that names the first context and method without a curve, or
  /// whose curve ends above the pool's keep ratios.
  [[nodiscard]] QualityTable curves(std::size_t contexts, const OptionPool& pool) const;

 private:
  struct Point {
    double keep = 1;
    double quality = 1;
    int line = 0;
  };
  using Curve = std::vector<Point>;  ///< ascending in keep
  using Curves = std::map<std::pair<std::int64_t, std::string>, Curve, std::less<>>;

  explicit QualityFile(std::string name) : name_(std::move(name)) {}
  void read_rows(LineReader& lines);
  void check() const;
  [[nodiscard]] const Curve* curve_of(std::int64_t context, std::string_view method) const;
  [[noreturn]] void fail(int line, const std::string& message) const;

  std::string name_;
  Curves curves_;
};

}  // namespace kvsim::models
