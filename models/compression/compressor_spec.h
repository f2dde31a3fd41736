// A KV compressor as data: what it keeps, what it costs, how well drafts from it agree with the full cache.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/compression/functional.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

using schema::Sourced;

enum class CompressionKind { token_dropping, quantisation, both };

/// offline: off the serving GPU, before the request; online: on the serving GPU, after or during prefill.
enum class CompressionMode { offline, online };

/// Which positions are compressed: those of the prompt only (generated ones stay whole), or all.
enum class CompressionScope { prompt, all };

/// KV that a verification must load onto the GPU: the dropped part (kept tokens are exact), or the whole KV.
enum class ReloadContent { missing, whole };

/// One point of a curve over the keep ratio.
struct KeepRatioPoint {
  double keep_ratio = 1;
  double value = 0;
};

/// A curve over the keep ratio and its source.
struct KeepRatioCurve {
  std::vector<KeepRatioPoint> points;  ///< ascending in keep ratio; empty: none is known
  schema::Source source;
};

struct CompressorSpec {
  std::string name;
  std::string description;
  CompressionKind kind = CompressionKind::token_dropping;
  CompressionMode mode = CompressionMode::offline;
  CompressionScope scope = CompressionScope::prompt;
  ReloadContent reload = ReloadContent::missing;
  bool long_context = true;    ///< usable for drafting on one replica
  bool remote_prefix = false;  ///< usable for transfer between pools
  /// Chooses anew for every draft what to read out of the whole KV, which must stay in GPU memory: nothing smaller can
  /// be kept or moved, and the keep ratio is the share that is read.
  bool reads_only = false;
  double bits_per_element = 16;              ///< of a kept element
  std::int64_t group_size = 0;               ///< quantisation: elements that share a scale and a zero point
  std::int64_t residual_tokens = 0;          ///< most recent tokens always kept whole on the GPU
  std::int64_t sink_tokens = 0;              ///< first tokens always kept whole on the GPU
  std::int64_t whole_layers = 0;             ///< layers whose KV stays whole
  Sourced<double> compress_bytes_per_s;      ///< full-KV bytes per second; 0: by the kernels it takes
  Sourced<double> decompress_bytes_per_s;    ///< full-KV bytes per second; 0: free
  Sourced<double> attention_time_factor;     ///< time of attention over compressed KV / time for the same bytes whole
  std::vector<KeepRatioPoint> step_kl_nats;  ///< eps(c): KL per decoding step between compressed and full
  schema::Source step_kl_source;
  std::vector<KeepRatioPoint> agreement;  ///< a(c): per-token agreement where published directly; else exp(-eps)
  schema::Source agreement_source;
  std::vector<KeepRatioPoint> quality;  ///< task score in [0, 1] relative to full KV
  schema::Source quality_source;
  /// Functional correctness relative to full KV, by task of kFunctionalTasks.
  std::array<KeepRatioCurve, kFunctionalTasks.size()> functional;

  /// The keep ratio that the bit width and the group's metadata imply at 16-bit elements:
  /// bits/16 + 2/group_size (a 16-bit scale and a 16-bit zero point per group). 1 for token dropping.
  [[nodiscard]] double quantised_ratio() const;

  /// eps(c) in nats per step. Interpolated linearly in 1/c - 1 between given points; with one point, proportional to
  /// 1/c - 1 through it (an assumption); NaN if no point is given.
  [[nodiscard]] double step_kl(double keep_ratio) const;

  /// Per-token agreement a(c): from `agreement` (-ln a interpolated like eps), else exp(-step_kl(c)).
  [[nodiscard]] double agreement_at(double keep_ratio) const;

  /// Relative task score at c, interpolated linearly; NaN if no point is given.
  [[nodiscard]] double quality_at(double keep_ratio) const;

  /// Functional correctness at c, by task: 1 with everything kept, interpolated linearly between given points, that of
  /// the lowest point below it (an upper bound, as keeping less is no better). NaN where no point is given; of all
  /// tasks above the highest point of any, as a line to 1 would flatter and the task without a figure may be the worst.
  [[nodiscard]] FunctionalScores functional_at(double keep_ratio) const;
};

}  // namespace kvsim::models
