// Settings of a scenario for stored prompts: what is kept of them, where, and who decides it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/compression/compressor_spec.h"
#include "models/schema/own_keys.h"

namespace kvsim::models {

/// Unit that is stored, found again and evicted as one.
enum class Granularity {
  contexts,  ///< the shared prefix of a request, as a whole
  blocks,    ///< each block of a chain of hashes
  chunks     ///< each chunk that a prompt is made of, wherever it stands
};

/// Which of the options that free space an overflowing tier takes first.
enum class UtilityVariant {
  least_drop,           ///< the least loss of utility, as published
  least_drop_per_byte,  ///< the least loss for each byte freed
  least_drop_for_need   ///< the same, but bytes beyond three times what the tier lacks count for nothing
};

enum class FrequencyKind {
  count,   ///< accesses so far
  decayed  ///< each access counts half after every half-life
};

/// Bandwidth that the policy takes a tier to have.
enum class BandwidthBelief {
  nominal,  ///< what the tier and its links have now, whoever else uses them
  observed  ///< what loads got lately, their waiting included
};

/// Where a new object goes. EvicPress has both: the first in its section 4.4, the second in its appendix A, which
/// inserts what has the highest quality and then makes room.
enum class FirstPlacement {
  best,  ///< where and as what one use of it is worth most, whatever else is stored
  whole  ///< whole wherever a tier can hold it so, compressed only where none can
};

/// Where an object may go that leaves a full tier.
enum class EvictionTargets {
  any_lower,  ///< any tier below in which it is worth most (EvicPress 4.4)
  next        ///< the first tier below that can hold it
};

/// Utility of joint compression and eviction: U = (alpha quality - TTFT) frequency (EvicPress).
struct UtilitySpec {
  double alpha_s = 10;  ///< seconds of TTFT that a quality of 1 is worth
  UtilityVariant variant = UtilityVariant::least_drop;
  FirstPlacement first = FirstPlacement::best;
  EvictionTargets targets = EvictionTargets::any_lower;
  FrequencyKind frequency = FrequencyKind::count;
  double half_life_s = 600;  ///< decayed
  BandwidthBelief bandwidth = BandwidthBelief::nominal;
  bool recompute = false;  ///< what is computed faster than loaded is not kept: published placement always keeps it
  bool promote = true;     ///< what is loaded moves up where that gains more than what makes room for it loses
};

/// The options of policy utility: whole, each method at each keep ratio, each quantiser, and both together.
struct OptionsSpec {
  std::vector<CompressorSpec> methods;  ///< that drop tokens; none: kvzip, knorm, snapkv
  std::vector<double> keep_ratios{0.75, 0.5, 0.25, 0.1};
  std::vector<CompressorSpec> quantisers;
  bool combine = true;  ///< each quantiser on what each method keeps, too
};

/// Important chunks only (IMPRESS): tokens that few heads attend to most; chunks that hold one of them are stored.
struct ImportanceSpec {
  double share = 0.25;  ///< of the tokens, that counts as important
  std::int64_t chunk_tokens = 64;
  double run_tokens = 16;  ///< important tokens stand together in runs of so many
  double probed = 0.1875;  ///< share of the KV that is read to choose them: keys of three heads of eight
};

enum class QualitySource { generated, file };

/// How much of its quality each context loses in each option.
struct QualitySpec {
  QualitySource source = QualitySource::generated;
  std::string path{};         ///< file: CSV of context, method, keep_ratio, quality
  double advantage = 0.5;     ///< generated: loss of a context by the method that suits it best / by KeyDiff
  double disadvantage = 1.0;  ///< the same by the other methods
  /// generated: loss at keep c is that at 0.1, times ((1 - c)/0.9)^shape. KeyDiff's relative RULER-4k scores (kvpress)
  /// at 0.25, 0.5, 0.75 and 0.9 give 1.95, 1.77, 1.49 and 1.51.
  double shape = 1.7;
  // Which method suits a context best, in shares of the contexts (EvicPress).
  double best_kvzip = 0.4;
  double best_knorm = 0.4;
  double best_snapkv = 0.2;
  double best_keydiff = 0;  ///< loses what it always does, and every other method `disadvantage` times that
};

/// Real queries drift from those that were profiled.
struct DriftSpec {
  double every_s = 0;      ///< mean time between changes of one context; 0: never
  double magnitude = 0.1;  ///< standard deviation of the change of its loss at keep 0.1
};

struct ProfilingSpec {
  bool online = false;       ///< profile again where the achieved quality falls below the profile
  double threshold = 0.05;   ///< by more than this
  std::int64_t queries = 1;  ///< decoded with every option
  double noise = 0;  ///< standard deviation between queries of what a method loses at keep 0.1; 0: profiles are right
  std::int64_t output_tokens = 128;  ///< of each
};

struct PlacementSpec {
  std::string policy = "lru";
  std::optional<Granularity> granularity;    ///< none: blocks where the workload has hashes of its own, else contexts
  std::optional<CompressorSpec> compressor;  ///< of every stored object, by the policies that only order them
  std::optional<double> keep_ratio;          ///< with a compressor that drops tokens
  UtilitySpec utility;
  OptionsSpec options;
  ImportanceSpec importance;
  QualitySpec quality;
  DriftSpec drift;
  ProfilingSpec profiling;
  bool preload = false;               ///< granularity chunks: all are computed and stored before the first request
  std::int64_t workers = 8;           ///< CPU workers that compress, per replica
  double worker_bytes_per_s = 2e9;    ///< of full KV, each, where the compressor has no rate of its own
  double in_transit = 0.1;            ///< share of a tier's capacity kept for objects on their way out of it
  std::int64_t gpu_memory_bytes = 0;  ///< of a replica's KV memory, kept as the first tier
  schema::OwnKeys own;                ///< of the eviction order that `policy` names
};

/// The policies that read keys of their own.
inline constexpr std::string_view utility_policy = "utility";
inline constexpr std::string_view importance_policy = "importance_chunks";
inline constexpr std::string_view no_store_policy = "none";

/// The compressors that stand for `options.methods` where a scenario leaves it out; looking them up is the scenario's.
inline constexpr std::array<const char*, 3> default_option_methods{"kvzip", "knorm", "snapkv"};

/// Puts the default methods where none are given; `find` looks a compressor up by its name.
void complete_methods(OptionsSpec& options, const std::function<CompressorSpec(const char*)>& find);

/// A key of placement that a policy does not look at, and what to do instead.
struct ForeignKey {
  std::string_view key;
  std::string_view instead;
};

/// The keys that are refused or remarked with a policy where they are written; a scenario that is written out whole
/// leaves them out.
[[nodiscard]] std::vector<ForeignKey> foreign_keys(std::string_view policy);

/// Gives the keys of other policies their defaults, so that nothing reads what was written there.
void reset_foreign_keys(PlacementSpec& placement);

}  // namespace kvsim::models
