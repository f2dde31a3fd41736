#include "models/calibration/calibrate.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/units.h"

namespace kvsim::models {
namespace {

std::string number(double value) {
  constexpr double kPlain = 1e4;
  if (value == std::floor(value) && std::abs(value) >= kPlain) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string time(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  for (const Unit unit : {Unit{1, "s"}, Unit{1e-3, "ms"}, Unit{1e-6, "us"}}) {
    if (seconds >= unit.seconds) return fmt::format("{:.4g} {}", seconds / unit.seconds, unit.name);
  }
  return fmt::format("{:.4g} ns", seconds * kNsPerSecond);
}

std::string word(schema::SourceKind kind) {
  switch (kind) {
    case schema::SourceKind::datasheet:
      return "datasheet";
    case schema::SourceKind::publication:
      return "publication";
    case schema::SourceKind::measurement:
      return "measurement";
    case schema::SourceKind::derived:
      return "derived";
    case schema::SourceKind::assumption:
      return "assumption";
    case schema::SourceKind::scenario:
      break;
  }
  return "measurement";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// Lines at an indentation below the entry's name.
class Writer {
 public:
  template <class... Args>
  void line(int level, fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<std::size_t>(2 * level), ' ');
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  void source(int level, const schema::Source& s) {
    line(level, "source: {}", word(s.kind));
    line(level, "reference: {}", quoted(s.reference));
  }
  void figure(int level, const char* key, const std::string& value, const schema::Source& s) {
    line(level, "{}: {{value: {}, source: {}, reference: {}}}", key, value, word(s.kind), quoted(s.reference));
  }
  void curve(int level, const EfficiencyCurve& c) {
    line(level, "compute_efficiency:");
    std::vector<std::string> points;
    for (const EfficiencyPoint& p : c.points) {
      points.push_back(fmt::format("{{size: {}, efficiency: {}}}", number(p.size), number(p.efficiency)));
    }
    line(level + 1, "points: [{}]", fmt::join(points, ", "));
    source(level + 1, c.source);
  }
  void stream(int level, const CachedStream& s) {
    if (s.l2_efficiency > 0) {
      line(level, "stream: {{bandwidth_efficiency: {}, l2_efficiency: {}, l2_share: {}, l2_width: {}}}",
           number(s.bandwidth_efficiency), number(s.l2_efficiency), number(s.l2_share), number(s.l2_width));
    } else {
      line(level, "stream: {{bandwidth_efficiency: {}}}", number(s.bandwidth_efficiency));
    }
  }
  void tiles(int level, const std::vector<GemmTile>& tiles) {
    line(level, "tiles:");
    for (const GemmTile& t : tiles) {
      line(level + 1, "- {{rows: {}, columns: {}, efficiency: {}}}", number(t.rows), number(t.columns),
           number(t.efficiency));
    }
  }
  void points(int level, const char* key, const std::vector<TimePoint>& points) {
    line(level, "{}:", key);
    for (const TimePoint& p : points) {
      line(level + 1, "- {{size: {}, seconds: {}}}", number(p.size), time(p.seconds));
    }
  }
  void correction(int level, std::initializer_list<const char*> names, const Correction& c) {
    if (c.empty()) return;
    line(level, "correction:");
    std::size_t d = 0;
    for (const char* name : names) line(level + 1, "{}: [{}]", name, joined(c.axes[d++]));
    line(level + 1, "factors: [{}]", joined(c.factors));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static std::string joined(const std::vector<double>& values) {
    std::vector<std::string> words;
    for (const double v : values) words.push_back(number(v));
    return fmt::format("{}", fmt::join(words, ", "));
  }

  std::string text_;
};

void write_machine(Writer& w, const MeasuredMachine& m) {
  w.line(2, "machine:");
  w.figure(3, "memory_bandwidth", schema::format_bandwidth(m.memory_bytes_per_s.value), m.memory_bytes_per_s.source);
  const auto rate = [](double value) { return schema::format_real(schema::Dimension::compute, value); };
  w.figure(3, "bf16_peak", rate(m.bf16_flops_per_s.value), m.bf16_flops_per_s.source);
  w.figure(3, "fp8_peak", rate(m.fp8_flops_per_s.value), m.fp8_flops_per_s.source);
  if (m.fp4_flops_per_s.value > 0) w.figure(3, "fp4_peak", rate(m.fp4_flops_per_s.value), m.fp4_flops_per_s.source);
  w.line(3, "multiprocessors: {}", number(m.multiprocessors));
  w.line(3, "l2_cache: {}", schema::format_bytes(m.l2_bytes));
  if (!m.architecture.empty()) w.line(3, "architecture: {}", m.architecture);
}

void write_linear(Writer& w, const std::vector<LinearForm>& forms) {
  if (!forms.empty()) w.line(3, "linear:");
  for (const LinearForm& f : forms) {
    w.line(4, "- weights: {}", word(f.weights));
    w.line(5, "t0: {}", time(f.t0_s));
    w.line(5, "bandwidth_efficiency: {}", number(f.bandwidth_efficiency));
    if (f.extra_input_bytes > 0) w.line(5, "extra_input_bytes: {}", number(f.extra_input_bytes));
    w.line(5, "tile_overhead_k: {}", number(f.tile_overhead_k));
    w.line(5, "wave_quantisation: {}", number(f.wave_quantisation));
    w.line(5, "blend_power: {}", number(f.blend_power));
    w.line(5, "power_droop: {}", number(f.power_droop));
    w.line(5, "io_efficiency: {}", number(f.io_efficiency));
    w.line(5, "per_doubling: {}", time(f.per_doubling_s));
    w.line(5, "sm_bandwidth: {}", number(f.sm_bandwidth));
    if (f.quantise.bandwidth_efficiency > 0) {
      w.line(5, "quantise: {{t0: {}, per_token: {}, bandwidth_efficiency: {}}}", time(f.quantise.t0_s),
             time(f.quantise.per_token_s), number(f.quantise.bandwidth_efficiency));
    }
    w.correction(5, {"tokens", "n", "k"}, f.correction);
    const LinearBenchmark& b = f.benchmark;
    if (b.l2_efficiency > 0) {
      w.line(5, "benchmark: {{l2_efficiency: {}, l2_share: {}, l2_width: {}, launch: {}, launch_few: {}}}",
             number(b.l2_efficiency), number(b.l2_share), number(b.l2_width), time(b.launch_s), time(b.launch_few_s));
    }
    w.tiles(5, f.tiles);
    w.line(5, "valid_to: {}", number(f.valid_to));
    w.source(5, f.source);
  }
}

void write_decode(Writer& w, const char* key, bool latent, const std::vector<DecodeForm>& forms) {
  if (!forms.empty()) w.line(3, "{}:", key);
  for (const DecodeForm& f : forms) {
    w.line(4, "- kv: {}", word(f.kv));
    w.line(5, "t0: {}", time(f.t0_s));
    w.line(5, "per_doubling: {}", time(f.per_doubling_s));
    w.line(5, "per_head: {}", time(f.per_head_s));
    if (!latent) w.line(5, "cold: {}", time(f.cold_s));
    if (latent) {
      w.line(5, "per_request_doubling: {}", time(f.per_request_doubling_s));
      w.line(5, "per_token: {}", time(f.per_token_s));
      w.line(5, "chunks_up_to: {}", number(f.chunks_up_to));
    } else {
      w.line(5, "uneven_share: {}", number(f.uneven_share));
    }
    if (f.hits_in_serving) w.line(5, "hits_in_serving: true");
    w.stream(5, f.stream);
    const SplitWalk& walk = f.walk;
    w.line(5, "walk:");
    w.line(6, "sm_bandwidth: {}", number(walk.sm_bandwidth));
    w.line(6, "efficiency: {}", number(walk.efficiency));
    w.line(6, "wave_quantisation: {}", number(walk.wave_quantisation));
    w.line(6, "unit: {}", time(walk.unit_s));
    w.line(6, "least_keys: {}", number(walk.least_keys));
    w.line(6, "blend_power: {}", number(walk.blend_power));
    w.line(6, "join: {}", time(walk.join_s));
    w.line(6, "regroup: {}", time(walk.regroup_s));
    w.line(6, "splits_single_heads: {}", walk.splits_single_heads);
    w.correction(5, {"walks", "kv_length", "head_dim", "group"}, f.correction);
    w.line(5, "valid_to: {:.0f}", f.valid_to);
    w.source(5, f.source);
  }
}

enum class TiledOf { heads, joined_launch, latent };

void write_tiled(Writer& w, const char* key, TiledOf of, const std::vector<TiledForm>& forms) {
  const bool mixed = of == TiledOf::joined_launch;
  if (!forms.empty()) w.line(3, "{}:", key);
  for (const TiledForm& f : forms) {
    w.line(4, "- kv: {}", word(f.kv));
    w.line(5, "tile_rows: {}", number(f.tile_rows));
    w.line(5, "t0: {}", time(f.t0_s));
    w.line(5, "efficiency: {}", number(f.efficiency));
    w.line(5, "overhead_tokens: {}", number(f.overhead_tokens));
    w.line(5, "longest_factor: {}", number(f.longest_factor));
    w.line(5, "wave_quantisation: {}", number(f.wave_quantisation));
    w.line(5, "blend_power: {}", number(f.blend_power));
    w.line(5, "io_efficiency: {}", number(f.io_efficiency));
    if (of == TiledOf::latent) w.line(5, "per_token: {}", time(f.per_token_s));
    if (of == TiledOf::heads) w.line(5, "head_dim_power: {}", number(f.head_dim_power));
    if (!mixed) {
      w.line(5, "tile: {}", time(f.tile_s));
      w.line(5, "per_doubling: {}", time(f.per_doubling_s));
      w.line(5, "write_efficiency: {}", number(f.write_efficiency));
      w.line(5, "power_droop: {}", number(f.power_droop));
    }
    if (of == TiledOf::heads) {
      w.line(5, "packs_groups: {}", f.packs_groups);
      w.correction(5, {"heads", "kv_length", "head_dim", "group"}, f.correction);
    }
    if (mixed) {
      w.line(5, "empty_tile: {}", time(f.empty_tile_s));
      w.line(5, "decode_overhead_tokens: {}", number(f.decode_overhead_tokens));
      w.stream(5, f.stream);
    }
    w.line(5, "valid_to: {}", number(f.valid_to));
    w.source(5, f.source);
  }
}

void write_moe(Writer& w, const std::vector<MoeForm>& forms) {
  if (!forms.empty()) w.line(3, "moe:");
  for (const MoeForm& f : forms) {
    w.line(4, "- weights: {}", word(f.weights));
    w.line(5, "t0: {}", time(f.t0_s));
    w.line(5, "per_expert: {}", time(f.per_expert_s));
    w.line(5, "per_doubling: {}", time(f.per_doubling_s));
    w.line(5, "foreign_share: {}", number(f.foreign_share));
    w.line(5, "tile_overhead_k: {}", number(f.tile_overhead_k));
    w.line(5, "wave_quantisation: {}", number(f.wave_quantisation));
    w.line(5, "blend_power: {}", number(f.blend_power));
    w.line(5, "io_efficiency: {}", number(f.io_efficiency));
    w.stream(5, f.stream);
    w.tiles(5, f.tiles);
    w.line(5, "valid_to: {}", number(f.valid_to));
    w.source(5, f.source);
  }
}

void write_fitted(Writer& w, const FittedForms& f) {
  if (f.linear.empty() && f.decode_attention.empty() && f.prefill_attention.empty() && f.mixed_attention.empty() &&
      f.latent_decode_attention.empty() && f.latent_prefill_attention.empty() && f.moe.empty() && !f.elementwise) {
    return;
  }
  w.line(2, "fitted:");
  write_linear(w, f.linear);
  write_decode(w, "decode_attention", false, f.decode_attention);
  write_tiled(w, "prefill_attention", TiledOf::heads, f.prefill_attention);
  write_tiled(w, "mixed_attention", TiledOf::joined_launch, f.mixed_attention);
  write_decode(w, "latent_decode_attention", true, f.latent_decode_attention);
  write_tiled(w, "latent_prefill_attention", TiledOf::latent, f.latent_prefill_attention);
  write_moe(w, f.moe);
  if (f.elementwise) {
    w.line(3, "elementwise:");
    w.line(4, "t0: {}", time(f.elementwise->t0_s));
    w.stream(4, f.elementwise->stream);
    w.source(4, f.elementwise->source);
  }
}

void write_launches(Writer& w, const AttentionLaunches& launches) {
  if (!launches.uses_mixed()) return;
  w.line(2, "launches:");
  w.line(3, "prefill: mixed");
  w.line(3, "mixed: mixed");
  w.source(3, launches.source);
}

void write_tables(Writer& w, const MeasuredTables& t) {
  if (t.linear.empty() && t.decode_attention.empty() && t.sampler.empty()) return;
  w.line(2, "tables:");
  if (!t.linear.empty()) w.line(3, "linear:");
  for (const LinearTable& table : t.linear) {
    w.line(4, "- weights: {}", word(table.weights));
    w.line(5, "n: {}", number(table.n));
    w.line(5, "k: {}", number(table.k));
    w.points(5, "points", table.points);
    w.source(5, table.source);
  }
  if (!t.decode_attention.empty()) w.line(3, "decode_attention:");
  for (const DecodeTable& table : t.decode_attention) {
    w.line(4, "- kv: {}", word(table.kv));
    w.line(5, "heads: {}", number(table.heads));
    w.line(5, "kv_heads: {}", number(table.kv_heads));
    w.line(5, "head_dim: {}", number(table.head_dim));
    std::vector<std::string> lengths;
    for (const double length : table.kv_lengths) lengths.push_back(number(length));
    w.line(5, "kv_lengths: [{}]", fmt::join(lengths, ", "));
    w.line(5, "rows:");
    for (const DecodeRow& row : table.rows) {
      std::vector<std::string> times;
      for (const double s : row.seconds) times.push_back(time(s));
      w.line(6, "- {{requests: {}, seconds: [{}]}}", number(row.requests), fmt::join(times, ", "));
    }
    if (table.warm) w.line(5, "warm: true");
    w.source(5, table.source);
  }
  if (t.sampler.empty()) return;
  w.points(3, "sampler", t.sampler);
  w.line(3, "sampler_source: {}", word(t.sampler_source.kind));
  w.line(3, "sampler_reference: {}", quoted(t.sampler_source.reference));
}

std::string profile_yaml(const KernelProfile& p) {
  Writer w;
  w.line(0, "profiles:");
  w.line(1, "{}:", p.name);
  w.line(2, "description: {}", quoted(p.description));
  w.line(2, "measured_on: {}", p.measured_on);
  w.line(2, "linear:");
  w.figure(3, "t0", time(p.linear_t0_s.value), p.linear_t0_s.source);
  w.figure(3, "bandwidth_efficiency", number(p.linear_bandwidth_efficiency.value),
           p.linear_bandwidth_efficiency.source);
  w.curve(3, p.linear_compute_efficiency);
  w.line(2, "attention:");
  w.figure(3, "t0", time(p.attention_t0_s.value), p.attention_t0_s.source);
  w.figure(3, "bandwidth_efficiency", number(p.attention_bandwidth_efficiency.value),
           p.attention_bandwidth_efficiency.source);
  w.curve(3, p.attention_compute_efficiency);
  if (p.machine) write_machine(w, *p.machine);
  write_fitted(w, p.fitted);
  write_launches(w, p.launches);
  write_tables(w, p.tables);
  if (p.iteration_overhead_s.value > 0) {
    w.figure(2, "iteration_overhead", time(p.iteration_overhead_s.value), p.iteration_overhead_s.source);
  }
  return w.take();
}

std::string link_yaml(const Calibration& calibration, const GpuSpec& gpu) {
  Writer w;
  w.line(0, "links:");
  w.line(1, "{}-peers:", calibration.profile.name);
  w.line(2, "base: {}", gpu.peer_link);
  w.line(2, "description: {}",
         quoted(fmt::format("{} between GPUs of {}, collectives as measured", gpu.peer_link, gpu.name)));
  w.line(2, "collectives:");
  for (const CollectiveTable& table : calibration.collectives) {
    w.line(3, "- operation: {}", models::word(table.operation));
    w.line(4, "library: {}", table.library);
    w.line(4, "gpus: {}", table.gpus);
    std::vector<std::string> points;
    for (const CollectivePoint& p : table.points) {
      points.push_back(fmt::format("{{bytes: {}, seconds: {}}}",
                                   schema::format_bytes(static_cast<std::int64_t>(p.bytes)), time(p.seconds)));
    }
    w.line(4, "points: [{}]", fmt::join(points, ", "));
    w.source(4, table.source);
  }
  return w.take();
}

}  // namespace

std::string catalogue_yaml(const Calibration& calibration, const GpuSpec& gpu) {
  std::string text;
  if (!calibration.operators.empty()) text += profile_yaml(calibration.profile);
  if (!calibration.collectives.empty()) text += link_yaml(calibration, gpu);
  return text;
}

}  // namespace kvsim::models
