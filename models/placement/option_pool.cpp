#include "models/placement/option_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "models/schema/units.h"
#include "models/schemas.h"

namespace kvsim::models {

OptionPool::OptionPool() {
  StorageOption full;
  full.name = "full";
  options_.push_back(std::move(full));
}

OptionIndex OptionPool::add(StorageOption option) {
  if (!(option.bytes_ratio() > 0 && option.bytes_ratio() < 1)) {
    throw std::invalid_argument("option " + option.name + " must have fewer bytes than the whole object, and some");
  }
  if (options_.size() > UINT16_MAX) throw std::invalid_argument("too many options");
  options_.push_back(std::move(option));
  return static_cast<OptionIndex>(options_.size() - 1);
}

std::int64_t OptionPool::bytes(OptionIndex i, std::int64_t full_bytes) const {
  if (i == 0 || full_bytes <= 0) return full_bytes;
  return std::max<std::int64_t>(std::llround(static_cast<double>(full_bytes) * options_[i].bytes_ratio()), 1);
}

bool OptionPool::follows(OptionIndex from, OptionIndex to) const {
  const StorageOption& a = options_[from];
  const StorageOption& b = options_[to];
  if (b.bytes_ratio() >= a.bytes_ratio()) return false;
  if (b.keep > a.keep || b.element_ratio > a.element_ratio) return false;
  // A quantised option is not quantised again by another method.
  return a.quantiser.empty() || a.quantiser == b.quantiser;
}

namespace {

double compress_s_per_byte(const CompressorSpec& compressor, double worker_bytes_per_s) {
  const double own = compressor.compress_bytes_per_s.value;
  return 1 / (own > 0 ? own : worker_bytes_per_s);
}

/// Option that a method leaves at a keep ratio.
StorageOption dropped(const CompressorSpec& method, double keep_ratio, double worker_bytes_per_s) {
  StorageOption option;
  option.name = fmt::format("{} {}", method.name, keep_ratio);
  option.method = method.name;
  option.keep = keep_ratio;
  option.compress_s_per_full_byte = compress_s_per_byte(method, worker_bytes_per_s);
  option.step_kl = method.step_kl(keep_ratio);
  return option;
}

/// Option after a quantiser, which sees what was kept.
StorageOption quantised(StorageOption option, const CompressorSpec& quantiser, double worker_bytes_per_s) {
  const double ratio = quantiser.quantised_ratio();
  option.name = option.method.empty() ? quantiser.name : fmt::format("{} x {}", option.name, quantiser.name);
  option.quantiser = quantiser.name;
  option.element_ratio = ratio;
  option.quantised_quality = quantiser.quality_at(ratio);
  option.compress_s_per_full_byte += option.keep * compress_s_per_byte(quantiser, worker_bytes_per_s);
  const double decompress = quantiser.decompress_bytes_per_s.value;
  option.decompress_s_per_full_byte = decompress > 0 ? option.keep / decompress : 0;
  option.step_kl += quantiser.step_kl(ratio);
  return option;
}

/// Adds what saves bytes and is not there yet.
void add(OptionPool& pool, StorageOption option) {
  if (!(option.bytes_ratio() < 1)) return;
  const auto same = [&](const StorageOption& other) {
    return other.method == option.method && other.quantiser == option.quantiser &&
           other.bytes_ratio() == option.bytes_ratio();
  };
  const auto all = pool.all();
  if (std::any_of(all.begin(), all.end(), same)) return;
  pool.add(std::move(option));
}

}  // namespace

OptionPool option_pool(const OptionsSpec& options, double worker_bytes_per_s) {
  OptionPool pool;
  std::vector<StorageOption> kept;
  for (const CompressorSpec& method : options.methods) {
    for (const double ratio : options.keep_ratios) kept.push_back(dropped(method, ratio, worker_bytes_per_s));
  }
  for (const StorageOption& option : kept) add(pool, option);
  for (const CompressorSpec& quantiser : options.quantisers) {
    add(pool, quantised({}, quantiser, worker_bytes_per_s));
    if (!options.combine) continue;
    for (const StorageOption& option : kept) add(pool, quantised(option, quantiser, worker_bytes_per_s));
  }
  return pool;
}

OptionPool option_pool(const CompressorSpec& compressor, double keep_ratio, double worker_bytes_per_s) {
  OptionPool pool;
  add(pool, compressor.kind == CompressionKind::token_dropping ? dropped(compressor, keep_ratio, worker_bytes_per_s)
                                                               : quantised({}, compressor, worker_bytes_per_s));
  return pool;
}

double stored_share(const ImportanceSpec& importance) {
  const double places = std::max(static_cast<double>(importance.chunk_tokens) / importance.run_tokens, 1.0);
  // Equals 1 - (1 - s)^places, without cancellation where s is small.
  const double share = -std::expm1(places * std::log1p(-importance.share));
  return std::clamp(share, importance.share, 1.0);
}

OptionPool option_pool(const ImportanceSpec& importance, double worker_bytes_per_s) {
  OptionPool pool;
  StorageOption option;
  option.name = "important chunks";
  option.method = "snapkv";  // an assumption: both keep what attention looks at
  option.keep = stored_share(importance);
  option.attended = importance.share;
  option.compress_s_per_full_byte = importance.probed / worker_bytes_per_s;
  option.step_kl = std::nan("");
  add(pool, std::move(option));
  return pool;
}

OptionPool option_pool(const PlacementSpec& placement) {
  if (placement.policy == utility_policy) return option_pool(placement.options, placement.worker_bytes_per_s);
  if (placement.policy == importance_policy) return option_pool(placement.importance, placement.worker_bytes_per_s);
  if (!placement.compressor) return {};
  return option_pool(*placement.compressor, placement.keep_ratio.value_or(1), placement.worker_bytes_per_s);
}

std::vector<std::string> option_assumptions(const PlacementSpec& placement) {
  std::vector<std::string> said;
  if (placement.policy == importance_policy) {
    const ImportanceSpec& i = placement.importance;
    said.push_back(fmt::format(
        "Important tokens ({:.3g} of all) stand in runs of {:.3g}, each place for a run taken independently of the "
        "others, so that {:.3g} of the bytes lie in chunks of {} tokens that hold one.",
        i.share, i.run_tokens, stored_share(i), i.chunk_tokens));
    said.push_back(fmt::format(
        "To choose important chunks, a CPU worker reads {:.3g} of the KV at {} GB/s; writing the rest out is free.",
        i.probed, placement.worker_bytes_per_s / kGB));
    said.emplace_back(
        "Attending to the important tokens alone gives the quality of SnapKV at a keep ratio of their share.");
    return said;
  }
  const OptionPool pool = option_pool(placement);
  const auto all = pool.all();
  const auto has = [&](const auto& what) { return std::any_of(all.begin(), all.end(), what); };
  const bool drops = has([](const StorageOption& o) { return !o.method.empty(); });
  const bool narrows = has([](const StorageOption& o) { return !o.quantiser.empty(); });
  if (drops || narrows) {
    said.push_back(
        fmt::format("Where a compressor has no rate of its own, a CPU worker "
                    "compresses {:.3g} GB of full KV a second.",
                    placement.worker_bytes_per_s / kGB));
    said.emplace_back(
        "Tokens that a compressor never touches (sinks, the most recent ones) are not counted in stored bytes.");
  }
  if (has([](const StorageOption& o) { return !o.method.empty() && !o.quantiser.empty(); })) {
    said.emplace_back(
        "Dropping tokens and narrowing the rest lose independently: relative "
        "scores multiply, and divergences per step add up.");
  }
  if (drops && pool.size() > 2) {
    said.emplace_back("An object that is compressed again by another method has the lower quality of the two options.");
  }
  return said;
}

}  // namespace kvsim::models
