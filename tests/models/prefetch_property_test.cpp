// Whatever is prefetched: more choice moves no less, and is worth no less.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>

#include "models/catalogue/catalogue.h"
#include "models/prefetch/prefetch_spec.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

const Catalogue& catalogue() {
  static const Catalogue shipped = Catalogue::built_in();
  return shipped;
}

std::int64_t any(std::int64_t from, std::int64_t to) {
  return *rc::gen::inRange<std::int64_t>(from, to + 1);
}

/// Two, the smaller first.
std::pair<std::int64_t, std::int64_t> two(std::int64_t from, std::int64_t to) {
  const std::int64_t a = any(from, to), b = any(from, to);
  return std::minmax(a, b);
}

double any_share() {
  return static_cast<double>(any(0, 99)) / 100;
}

PrefetchSpec any_spec() {
  static const auto lines = catalogue().list(EntryKind::attention_profile);
  PrefetchSpec spec;
  spec.top_k = any(1, 512);
  spec.overlap = any_share();
  spec.query_tokens = any(1, 8);
  spec.row_tokens = any(1, 32);
  spec.layout = any(0, 1) == 1 ? RowLayout::interleaved : RowLayout::separate;
  spec.attention = catalogue().attention_profile(lines[static_cast<std::size_t>(any(0, 1))].name);
  return spec;
}

/// A quantiser with losses that grow as bits go.
CompressorSpec quantiser(std::int64_t bits) {
  CompressorSpec c = catalogue().compressor("specache-2bit");
  c.bits_per_element = static_cast<double>(bits);
  return c;
}

RC_GTEST_PROP(PrefetchProperty, AUnionLiesBetweenOneSetAndAllOfThem, ()) {
  const auto k = static_cast<double>(any(1, 1000)), q = static_cast<double>(any(1, 64));
  const auto context = static_cast<double>(any(1, 100000));
  const double u = union_of_top_k(k, q, any_share(), context);
  RC_ASSERT(u >= std::min(k, context));
  RC_ASSERT(u <= std::min(q * k, context) * (1 + 1e-12));
}

RC_GTEST_PROP(PrefetchProperty, AUnionGrowsWithEveryArgumentButTheOverlap, ()) {
  const auto k = static_cast<double>(any(1, 1000)), q = static_cast<double>(any(1, 64));
  const auto context = static_cast<double>(any(1, 100000)), more = static_cast<double>(any(0, 50));
  const double overlap = any_share(), other = any_share();
  const double u = union_of_top_k(k, q, overlap, context);
  RC_ASSERT(union_of_top_k(k + more, q, overlap, context) >= u);
  RC_ASSERT(union_of_top_k(k, q + more, overlap, context) >= u);
  RC_ASSERT(union_of_top_k(k, q, overlap, context + more) >= u);
  RC_ASSERT(union_of_top_k(k, q, std::max(overlap, other), context) <= u);
}

RC_GTEST_PROP(PrefetchProperty, FetchedTokensHoldTheUnionInLessThanARowMore, ()) {
  const PrefetchSpec spec = any_spec();
  const std::int64_t context = any(1, 100000);
  const double u = union_of_top_k(static_cast<double>(spec.top_k), static_cast<double>(spec.query_tokens), spec.overlap,
                                  static_cast<double>(context));
  const auto tokens = static_cast<double>(fetched_tokens(spec, context));
  RC_ASSERT(tokens >= u * (1 - 1e-8));
  RC_ASSERT(tokens < u + static_cast<double>(spec.row_tokens));
  RC_ASSERT(tokens <= static_cast<double>(context));
}

RC_GTEST_PROP(PrefetchProperty, MoreChoiceFetchesNoLess, ()) {
  static const LlmSpec model = catalogue().model("mistral-7b");
  PrefetchSpec spec = any_spec();
  const std::int64_t gpus = any(1, 16);
  const auto [shorter, longer] = two(1, 100000);
  RC_ASSERT(layer_fetch(spec, model, gpus, shorter).bytes() <= layer_fetch(spec, model, gpus, longer).bytes());
  const auto [few, many] = two(1, 512);
  spec.top_k = few;
  const double bytes = layer_fetch(spec, model, gpus, longer).bytes();
  spec.top_k = many;
  RC_ASSERT(bytes <= layer_fetch(spec, model, gpus, longer).bytes());
}

RC_GTEST_PROP(PrefetchProperty, BothLayoutsMoveTheSameBytes, ()) {
  static const LlmSpec model = catalogue().model("mistral-7b");
  PrefetchSpec spec = any_spec();
  const std::int64_t context = any(1, 100000);
  spec.layout = RowLayout::separate;
  const LayerFetch apart = layer_fetch(spec, model, 1, context);
  spec.layout = RowLayout::interleaved;
  const LayerFetch together = layer_fetch(spec, model, 1, context);
  RC_ASSERT(apart.bytes() == together.bytes());
  RC_ASSERT(apart.rows == 2 * together.rows);
}

RC_GTEST_PROP(PrefetchProperty, ResidentFractionFallsWithTheContextAndRisesWithWhatIsKept, ()) {
  const CompressorSpec c = quantiser(any(1, 8));
  const auto [shorter, longer] = two(1, 100000);
  const auto [few, many] = two(0, 1000);
  RC_ASSERT(resident_fraction(c, few, longer) <= resident_fraction(c, few, shorter));
  RC_ASSERT(resident_fraction(c, few, longer) <= resident_fraction(c, many, longer));
  RC_ASSERT(resident_fraction(c, few, longer) >= c.quantised_ratio());
}

RC_GTEST_PROP(PrefetchProperty, QualityRisesWithTopK, ()) {
  PrefetchSpec spec = any_spec();
  const CompressorSpec c = quantiser(any(1, 8));
  const std::int64_t context = any(1, 100000);
  const bool speculative = any(0, 1) == 1;
  const auto [few, many] = two(1, 512);
  spec.top_k = few;
  const PrefetchQuality less = prefetch_quality(spec, c, context, speculative);
  spec.top_k = many;
  const PrefetchQuality more = prefetch_quality(spec, c, context, speculative);
  RC_ASSERT(less.mass <= more.mass);
  RC_ASSERT(less.score <= more.score + 1e-12);
  RC_ASSERT(less.step_kl >= more.step_kl - 1e-12);
}

RC_GTEST_PROP(PrefetchProperty, QualityFallsWithFewerBitsAndLongerContexts, ()) {
  const PrefetchSpec spec = any_spec();
  const auto [few, many] = two(1, 8);
  const auto [shorter, longer] = two(1, 100000);
  const PrefetchQuality best = prefetch_quality(spec, quantiser(many), shorter, true);
  RC_ASSERT(prefetch_quality(spec, quantiser(few), shorter, true).score <= best.score + 1e-12);
  RC_ASSERT(prefetch_quality(spec, quantiser(few), shorter, true).hit_rate <= best.hit_rate);
  RC_ASSERT(prefetch_quality(spec, quantiser(many), longer, true).score <= best.score + 1e-12);
}

RC_GTEST_PROP(PrefetchProperty, QualityLiesBetweenTheQuantisersAndTheFullCaches, ()) {
  const PrefetchSpec spec = any_spec();
  const CompressorSpec c = quantiser(any(1, 8));
  const std::int64_t context = any(1, 100000);
  const PrefetchQuality own = prefetch_quality(spec, c, context, false);
  const PrefetchQuality guessed = prefetch_quality(spec, c, context, true);
  RC_ASSERT(guessed.covered <= own.covered + 1e-12);
  RC_ASSERT(guessed.score <= own.score + 1e-12);
  RC_ASSERT(guessed.score >= c.quality_at(c.quantised_ratio()) - 1e-12);
  RC_ASSERT(own.score <= 1 + 1e-12);
  RC_ASSERT(guessed.hit_rate <= 1 + 1e-12);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
