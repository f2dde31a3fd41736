// Quality curves: what each context scores in each storage option, relative to its whole KV. Generated from what is
// published of data sets, and made to drift.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_table.h"
#include "models/workload/dataset.h"
#include "models/workload/random_source.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {

/// How much the contexts of a kind lose where KeyDiff keeps a tenth of their tokens.
struct Sensitivity {
  double median_loss = 0;  ///< share of the score, in [0, 1]
  double loss_cv = 0;      ///< standard deviation / median over contexts, before the bounds apply
};

/// Of contexts that come from no named data set, an assumption: the median of the six published medians, and the spread
/// that the shipped data sets have.
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

/// One curve for each context, in order; more contexts leave the curves of the first ones as they were.
[[nodiscard]] QualityTable generated_curves(std::span<const Sensitivity> contexts, const OptionPool& pool,
                                            const QualitySpec& spec, RandomSource& random);

/// `curve` after a change of the queries: the loss at keep ratio 0.1 by the worst method of the pool takes a normal
/// step of standard deviation `magnitude`, reflected so that it stays within [0.01, 1] (from below, because a context
/// that loses nothing would forget which method suits it); all losses of dropped tokens change in proportion, and a
/// curve without any gets losses that follow `shape`. Takes one normal number.
[[nodiscard]] std::vector<float> drifted_curve(std::span<const float> curve, const OptionPool& pool, double magnitude,
                                               double shape, RandomSource& random);

/// What curves take for granted, in sentences for results: of these data sets, or of none.
[[nodiscard]] std::vector<std::string> quality_assumptions(const QualitySpec& spec,
                                                           std::span<const DatasetSpec> datasets = {});
/// What drift takes for granted; nothing where there is none.
[[nodiscard]] std::vector<std::string> drift_assumptions(const DriftSpec& spec);

}  // namespace kvsim::models
