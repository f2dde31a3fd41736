#include "models/calibration/calibrate.h"
#include "models/calibration/yaml_lines.h"

namespace kvsim::models {
namespace {

using namespace lines;

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

template <class Form>
void write_kernels(Writer& w, const Form& form) {
  if (!form.kernels.empty()) w.line(5, "kernels: {}", form.kernels);
}

void write_linear(Writer& w, const std::vector<LinearForm>& forms) {
  if (!forms.empty()) w.line(3, "linear:");
  for (const LinearForm& f : forms) {
    w.line(4, "- weights: {}", word(f.weights));
    write_kernels(w, f);
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
    w.error(5, f.error);
    w.source(5, f.source);
  }
}

void write_decode(Writer& w, const char* key, bool latent, const std::vector<DecodeForm>& forms) {
  if (!forms.empty()) w.line(3, "{}:", key);
  for (const DecodeForm& f : forms) {
    w.line(4, "- kv: {}", word(f.kv));
    write_kernels(w, f);
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
    w.error(5, f.error);
    w.source(5, f.source);
  }
}

void write_verify(Writer& w, const std::vector<VerifyForm>& forms) {
  if (!forms.empty()) w.line(3, "verify_attention:");
  for (const VerifyForm& f : forms) {
    w.line(4, "- kv: {}", word(f.kv));
    w.line(5, "block_rows: {}", number(f.block_rows));
    w.line(5, "reading: {}", number(f.reading));
    w.line(5, "further_blocks: {}", number(f.further_blocks));
    w.line(5, "efficiency: {}", number(f.efficiency));
    w.line(5, "per_row: {}", time(f.per_row_s));
    w.line(5, "blend_power: {}", number(f.blend_power));
    w.line(5, "valid_to: {}", number(f.valid_to));
    w.error(5, f.error);
    w.source(5, f.source);
  }
}

enum class TiledOf { heads, joined_launch, latent };

void write_tiled(Writer& w, const char* key, TiledOf of, const std::vector<TiledForm>& forms) {
  const bool mixed = of == TiledOf::joined_launch;
  if (!forms.empty()) w.line(3, "{}:", key);
  for (const TiledForm& f : forms) {
    w.line(4, "- kv: {}", word(f.kv));
    write_kernels(w, f);
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
      w.line(5, "write_block: {}", time(f.write_block_s));
      w.line(5, "packs_groups: {}", f.packs_groups);
      w.line(5, "uneven_group_share: {}", number(f.uneven_group_share));
      w.correction(5, {"heads", "kv_length", "head_dim", "group"}, f.correction);
    }
    if (mixed) {
      w.line(5, "empty_tile: {}", time(f.empty_tile_s));
      w.line(5, "decode_overhead_tokens: {}", number(f.decode_overhead_tokens));
      w.stream(5, f.stream);
    }
    w.line(5, "valid_to: {}", number(f.valid_to));
    w.error(5, f.error);
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
    w.error(5, f.error);
    w.source(5, f.source);
  }
}

void write_pass(Writer& w, const char* key, const std::optional<ElementwiseForm>& form) {
  if (!form) return;
  w.line(3, "{}:", key);
  w.line(4, "t0: {}", time(form->t0_s));
  w.stream(4, form->stream);
  w.source(4, form->source);
}

void write_fitted(Writer& w, const FittedForms& f) {
  if (!f.any()) return;
  w.line(2, "fitted:");
  write_linear(w, f.linear);
  write_decode(w, "decode_attention", false, f.decode_attention);
  write_verify(w, f.verify_attention);
  write_tiled(w, "prefill_attention", TiledOf::heads, f.prefill_attention);
  write_tiled(w, "mixed_attention", TiledOf::joined_launch, f.mixed_attention);
  write_decode(w, "latent_decode_attention", true, f.latent_decode_attention);
  write_tiled(w, "latent_prefill_attention", TiledOf::latent, f.latent_prefill_attention);
  write_moe(w, f.moe);
  write_pass(w, "elementwise", f.elementwise);
  if (f.top_k) {
    w.line(3, "top_k:");
    w.line(4, "t0: {}", time(f.top_k->t0_s));
    w.line(4, "per_score: {}", time(f.top_k->per_score_s));
    w.line(4, "rows_at_once: {}", number(f.top_k->rows_at_once));
    w.source(4, f.top_k->source);
  }
  write_pass(w, "quantise", f.quantise);
  write_pass(w, "dequantise", f.dequantise);
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

}  // namespace

bool has_profile(const KernelProfile& p) {
  return p.fitted.any() || p.launch.graph_s.value > 0 || p.launch.kernel_s.value > 0 || p.interference.any();
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
  const auto share = [&w](const char* key, const Sourced<double>& figure) {
    if (!figure.source.reference.empty()) w.figure(3, key, number(figure.value), figure.source);
  };
  if (p.low_bit.elements_per_s.value > 0) {
    w.line(3, "low_bit:");
    w.figure(4, "elements_per_s", number(p.low_bit.elements_per_s.value), p.low_bit.elements_per_s.source);
    w.line(4, "blend_power: {}", number(p.low_bit.blend_power));
  }
  share("further_query_share", p.further_query_share);
  if (p.machine) write_machine(w, *p.machine);
  write_fitted(w, p.fitted);
  write_launches(w, p.launches);
  write_tables(w, p.tables);
  if (p.launch.graph_s.value > 0 || p.launch.kernel_s.value > 0) {
    w.line(2, "launch:");
    w.figure(3, "graph", time(p.launch.graph_s.value), p.launch.graph_s.source);
    w.figure(3, "kernel", time(p.launch.kernel_s.value), p.launch.kernel_s.source);
  }
  if (p.interference.any()) {
    w.line(2, "interference:");
    share("kernels_to_gpu", p.interference.kernels_to_gpu);
    share("kernels_from_gpu", p.interference.kernels_from_gpu);
    share("copies_to_gpu", p.interference.copies_to_gpu);
    share("copies_from_gpu", p.interference.copies_from_gpu);
  }
  if (p.iteration_overhead_s.value > 0) {
    w.figure(2, "iteration_overhead", time(p.iteration_overhead_s.value), p.iteration_overhead_s.source);
  }
  return w.take();
}

}  // namespace kvsim::models
