// Keys of fitted kernel forms and measured tables. Every row gives a whole profile, in which one value differs.
#include "tests/scenario/key_rows_forms.h"

namespace kvsim::testing {
namespace {

using Fixture = FormFixture;
constexpr auto row = [](const std::string& path, const std::string& a, const std::string& b,
                        const Fixture& fixture = {},
                        Effect effect = Effect::measured) { return form_row(path, a, b, fixture, effect); };

Fixture with_wide_heads(Fixture f) {
  f.base.push_back("model.head_dim=256");
  return f;
}

Fixture with_three_to_a_group(Fixture f) {
  f.base.push_back("model.heads=24");
  return f;
}

void add_correction(std::vector<KeyRow>& rows, const std::string& form, const char* units, const Fixture& f) {
  const std::string at = form + "correction.";
  rows.push_back(row(at + units + "[]", "[1, 4096]", "[1, 8]", f));
  rows.push_back(row(at + "kv_length[]", "[16, 65536]", "[16, 2048]", f));
  rows.push_back(row(at + "head_dim[]", "[64, 256]", "[64, 1024]", f));
  rows.push_back(row(at + "group[]", "[1, 32]", "[1, 8]", f));
  rows.push_back(row(at + "factors[]", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]",
                     "[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]", f));
}

void add_error(std::vector<KeyRow>& rows, const std::string& form, const Fixture& f) {
  rows.push_back(row(form + "error.median", "0.04", "0.05", f, Effect::reported));
  rows.push_back(row(form + "error.p90", "0.12", "0.15", f, Effect::reported));
  rows.push_back(row(form + "error.held_out", "false", "true", f, Effect::reported));
  rows.push_back(row(form + "error.models_median", "0.04", "0.05", f, Effect::none_yet));  // kvsim validate shows them
  rows.push_back(row(form + "error.models_p90", "0.12", "0.15", f, Effect::none_yet));
}

void add_tiles(std::vector<KeyRow>& rows, const std::string& at, const Fixture& f) {
  rows.push_back(row(at + "kv", "bf16", "fp8", f));
  rows.push_back(row(at + "tile_rows", "128", "64", f));
  rows.push_back(row(at + "t0", "10 us", "30 us", f));
  rows.push_back(row(at + "efficiency", "0.6", "0.3", f));
  rows.push_back(row(at + "overhead_tokens", "100", "400", f));
  rows.push_back(row(at + "longest_factor", "1", "10", f));
  rows.push_back(row(at + "wave_quantisation", "0", "1", f));
  rows.push_back(row(at + "blend_power", "1", "4", f));
  rows.push_back(row(at + "io_efficiency", "0.8", "0.1", f));
  rows.push_back(row(at + "tile", "0 us", "9 us", f));
  rows.push_back(row(at + "per_doubling", "0 us", "20 us", f));
  rows.push_back(row(at + "write_efficiency", "0", "0.01", f));
  rows.push_back(row(at + "power_droop", "0", "1", f));
  rows.push_back(row(at + "valid_to", "64", "1000000", f, Effect::reported));
  rows.push_back(row(at + "source", "measurement", "publication", f, Effect::reported));
  rows.push_back(row(at + "reference", "one", "two", f, Effect::reported));
  add_error(rows, at, f);
}

void add_tiled(std::vector<KeyRow>& rows, const std::string& at, const Fixture& f) {
  add_tiles(rows, at, f);
  rows.push_back(row(at + "head_dim_power", "0", "1", with_wide_heads(f)));
  rows.push_back(row(at + "write_block", "0 us", "900 us", f));
  rows.push_back(row(at + "packs_groups", "false", "true", f));
  rows.push_back(row(at + "uneven_group_share", "0", "1", with_three_to_a_group(f)));
  add_correction(rows, at, "heads", f);
}

void add_stream(std::vector<KeyRow>& rows, const std::string& at, const Fixture& f) {
  rows.push_back(row(at + "stream.bandwidth_efficiency", "0.9", "0.5", f));
  rows.push_back(row(at + "stream.l2_efficiency", "2", "4", f));
  rows.push_back(row(at + "stream.l2_share", "0.8", "0.01", f));
  rows.push_back(row(at + "stream.l2_width", "0.4", "2", f));
}

/// Of routed experts, in a mixture that is sharded within each expert at most.
void add_experts(std::vector<KeyRow>& rows) {
  const std::string mixture =
      "model={base: llama-3.1-8b, moe: {experts: 16, experts_per_token: 2, shared_experts: 0, expert_intermediate: "
      "1024, "
      "dense_layers: 2}}";
  const Fixture decoding{.base = {mixture}};
  const Fixture prefilling{.base = recomputed({mixture})};
  const std::string at = "fitted.moe[].";
  rows.push_back(row(at + "weights", "bf16", "fp8", decoding));
  rows.push_back(row(at + "t0", "20 us", "50 us", decoding));
  rows.push_back(row(at + "per_expert", "10 ns", "90 ns", decoding));
  rows.push_back(row(at + "per_doubling", "1 us", "9 us", decoding));
  rows.push_back(
      row(at + "foreign_share", "0.5", "1", decoding, Effect::none_yet));  // no scenario spreads whole experts
  rows.push_back(row(at + "tile_overhead_k", "0", "9000", prefilling));
  rows.push_back(row(at + "wave_quantisation", "0", "1", prefilling));
  rows.push_back(row(at + "blend_power", "1", "4", decoding));
  rows.push_back(row(at + "io_efficiency", "0.8", "0.1", decoding));
  rows.push_back(row(at + "stream.bandwidth_efficiency", "0.9", "0.5", decoding));
  // A step reads other layers' weights in between: none of these hit L2.
  rows.push_back(row(at + "stream.l2_efficiency", "2", "4", decoding, Effect::none_yet));
  rows.push_back(row(at + "stream.l2_share", "0.8", "0.01", decoding, Effect::none_yet));
  rows.push_back(row(at + "stream.l2_width", "0.4", "2", decoding, Effect::none_yet));
  rows.push_back(row(at + "tiles[].rows", "128", "512", prefilling));
  rows.push_back(row(at + "tiles[].columns", "128", "512", prefilling));
  rows.push_back(row(at + "tiles[].efficiency", "0.7", "0.2", prefilling));
  rows.push_back(row(at + "valid_to", "8", "16384", prefilling, Effect::reported));
  rows.push_back(row(at + "source", "measurement", "publication", decoding, Effect::reported));
  rows.push_back(row(at + "reference", "one", "two", decoding, Effect::reported));
  add_error(rows, at, decoding);
}

/// Of a latent: its decoding, and prompts that are expanded.
void add_latents(std::vector<KeyRow>& rows) {
  const std::string heads =
      "mla: {q_lora_rank: 1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, "
      "v_head_dim: 128}}";
  const std::string model = "model={base: llama-3.1-8b, attention: mla, " + heads;
  const Fixture decoding{.base = {model}};
  const Fixture crowded{.base = {model, "cluster.gpu.type.multiprocessors=5"}};
  const Fixture single{.base = {"model={base: llama-3.1-8b, heads: 1, kv_heads: 1, attention: mla, " + heads,
                                "workload.closed={concurrency: 1}"}};
  const Fixture prefilling{.base = recomputed({model})};
  const std::string decode = "fitted.latent_decode_attention[].";
  rows.push_back(row(decode + "kv", "bf16", "fp8", decoding));
  rows.push_back(row(decode + "t0", "40 us", "90 us", decoding));
  rows.push_back(row(decode + "per_doubling", "1 us", "9 us", decoding));
  rows.push_back(row(decode + "per_head", "2 ns", "90 ns", decoding));
  rows.push_back(row(decode + "per_request_doubling", "2 us", "9 us", decoding));
  rows.push_back(row(decode + "per_token", "20 ns", "900 ns", decoding));
  rows.push_back(row(decode + "chunks_up_to", "0", "100000", prefilling));
  rows.push_back(row(decode + "stream.bandwidth_efficiency", "0.9", "0.5", decoding));
  // A step reads weights between two layers' latents: none of these hit L2.
  rows.push_back(row(decode + "stream.l2_efficiency", "2", "4", decoding, Effect::none_yet));
  rows.push_back(row(decode + "stream.l2_share", "0.8", "0.01", decoding, Effect::none_yet));
  rows.push_back(row(decode + "stream.l2_width", "0.4", "2", decoding, Effect::none_yet));
  rows.push_back(row(decode + "walk.sm_bandwidth", "4", "0.1", decoding));
  rows.push_back(row(decode + "walk.efficiency", "0.5", "0.001", decoding));
  rows.push_back(row(decode + "walk.wave_quantisation", "0", "1", crowded));
  rows.push_back(row(decode + "walk.unit", "2 us", "90 us", decoding));
  rows.push_back(row(decode + "walk.least_keys", "16", "100000", decoding));
  rows.push_back(row(decode + "walk.blend_power", "1", "4", decoding));
  rows.push_back(row(decode + "walk.join", "20 ns", "20 us", decoding));
  rows.push_back(row(decode + "walk.regroup", "1 us", "20 us", decoding, Effect::none_yet));  // one group
  rows.push_back(row(decode + "walk.splits_single_heads", "true", "false", single));
  rows.push_back(row(decode + "valid_to", "1e6", "4e9", decoding, Effect::reported));
  rows.push_back(row(decode + "source", "measurement", "publication", decoding, Effect::reported));
  rows.push_back(row(decode + "reference", "one", "two", decoding, Effect::reported));
  add_error(rows, decode, decoding);
  const std::string prefill = "fitted.latent_prefill_attention[].";
  add_tiles(rows, prefill, prefilling);
  rows.push_back(row(prefill + "per_token", "20 ns", "900 ns", prefilling));
}

}  // namespace

std::string fitted_profile() {
  return row("fitted.linear[].t0", "4 us", "4 us").a;
}

std::vector<KeyRow> kernel_rows() {
  const Fixture prefilling{.base = recomputed()};
  const Fixture mixed{.mixed = true,
                      .base = recomputed({"workload.closed={concurrency: 40}", "cluster.gpu.type.multiprocessors=20"})};
  const Fixture tables{.tables = true};
  const Fixture crowded{.base = {"cluster.gpu.type.multiprocessors=5"}};
  const Fixture of_vllm{.base = {"schedule.engine=vllm"}};
  // Tables measured on another machine are scaled by what the forms say of both.
  const Fixture other{.tables = true, .base = {"cluster.gpu.type=h200"}};
  std::vector<KeyRow> rows = {
      row("machine.memory_bandwidth", "3350 GB/s", "3400 GB/s", other),
      row("machine.bf16_peak", "989 TFLOP/s", "960 TFLOP/s",
          {.tables = true, .base = recomputed({"cluster.gpu.type=h200"})}),
      row("machine.multiprocessors", "132", "126", other),
      row("machine.fp4_peak", "0 FLOP/s", "4000 TFLOP/s", {}, Effect::refused),  // the H100 has no such units
      row("machine.architecture", "hopper", "ampere", {}, Effect::refused),
      row("fitted.linear[].weights", "bf16", "fp8"),
      row("fitted.linear[].kernels", "vllm", "trtllm", of_vllm, Effect::reported),
      row("fitted.decode_attention[].kernels", "vllm", "trtllm", of_vllm, Effect::reported),
      row("fitted.prefill_attention[].kernels", "vllm", "trtllm", of_vllm, Effect::reported),
      row("fitted.linear[].t0", "4 us", "9 us"),
      row("fitted.linear[].bandwidth_efficiency", "0.9", "0.6"),
      row("fitted.linear[].extra_input_bytes", "0", "20"),
      row("fitted.linear[].tile_overhead_k", "0", "9000", prefilling),
      row("fitted.linear[].wave_quantisation", "0", "1", prefilling),
      row("fitted.linear[].blend_power", "1", "4"),
      row("fitted.linear[].power_droop", "0", "0.5", prefilling),
      row("fitted.linear[].tiles[].rows", "128", "256", prefilling),
      row("fitted.linear[].tiles[].columns", "128", "512", prefilling),
      row("fitted.linear[].tiles[].efficiency", "0.7", "0.3", prefilling),
      row("fitted.linear[].io_efficiency", "0.9", "0.01"),
      row("fitted.linear[].per_doubling", "0 us", "9 us"),
      row("fitted.linear[].sm_bandwidth", "0", "0.5"),
      row("fitted.linear[].quantise.t0", "1 us", "9 us"),
      row("fitted.linear[].quantise.per_token", "1 ns", "9 us"),
      row("fitted.linear[].quantise.bandwidth_efficiency", "0.5", "0.001"),
      row("fitted.linear[].correction.tokens[]", "[1, 4096]", "[1, 8]"),
      row("fitted.linear[].correction.n[]", "[64, 65536]", "[64, 8192]"),
      row("fitted.linear[].correction.k[]", "[64, 65536]", "[64, 8192]"),
      row("fitted.linear[].correction.factors[]", "[1, 1, 1, 1, 1, 1, 1, 1]", "[2, 2, 2, 2, 2, 2, 2, 2]"),
      row("fitted.linear[].benchmark.l2_efficiency", "2", "3", {}, Effect::none_yet),
      row("fitted.linear[].benchmark.l2_share", "0.8", "0.9", {}, Effect::none_yet),
      row("fitted.linear[].benchmark.l2_width", "0.4", "0.5", {}, Effect::none_yet),
      row("fitted.linear[].benchmark.launch", "60 us", "70 us", {}, Effect::none_yet),
      row("fitted.linear[].benchmark.launch_few", "50 us", "60 us", {}, Effect::none_yet),
      row("fitted.decode_attention[].walk.sm_bandwidth", "4", "0.1"),
      row("fitted.decode_attention[].walk.efficiency", "0.5", "0.001"),
      row("fitted.decode_attention[].walk.wave_quantisation", "0", "1", crowded),
      row("fitted.decode_attention[].walk.unit", "2 us", "90 us"),
      row("fitted.decode_attention[].walk.least_keys", "16", "100000"),
      row("fitted.decode_attention[].walk.blend_power", "1", "4"),
      row("fitted.decode_attention[].walk.join", "20 ns", "20 us"),
      row("fitted.decode_attention[].walk.regroup", "1 us", "20 us"),
      row("fitted.decode_attention[].walk.splits_single_heads", "true", "false",
          {.base = {"model.kv_heads=32", "workload.closed={concurrency: 1}"}}),
      row("fitted.linear[].valid_to", "8", "4096", {}, Effect::reported),
      row("fitted.linear[].source", "measurement", "publication", {}, Effect::reported),
      row("fitted.linear[].reference", "one", "two", {}, Effect::reported),
      row("fitted.decode_attention[].kv", "bf16", "fp8"),
      row("fitted.decode_attention[].t0", "13 us", "40 us"),
      row("fitted.decode_attention[].per_doubling", "1 us", "9 us"),
      row("fitted.decode_attention[].per_head", "2 ns", "90 ns"),
      row("fitted.decode_attention[].cold", "1 us", "20 us"),
      row("fitted.decode_attention[].uneven_share", "0", "1",
          {.base = {"workload.output={distribution: exponential, mean: 2000 tokens}"}}),
      row("fitted.decode_attention[].hits_in_serving", "false", "true"),
      row("fitted.decode_attention[].valid_to", "1e6", "4e9", {}, Effect::reported),
      row("fitted.decode_attention[].source", "measurement", "publication", {}, Effect::reported),
      row("fitted.decode_attention[].reference", "one", "two", {}, Effect::reported),
      row("fitted.verify_attention[].kv", "bf16", "fp8", {}, Effect::refused),  // of which there is no decode attention
      row("fitted.verify_attention[].block_rows", "64", "16"),
      row("fitted.verify_attention[].reading", "1.2", "3"),
      row("fitted.verify_attention[].further_blocks", "1", "0"),
      row("fitted.verify_attention[].efficiency", "0.4", "0.01"),
      row("fitted.verify_attention[].per_row", "2 ns", "200 ns"),
      row("fitted.verify_attention[].blend_power", "4", "1"),
      row("fitted.verify_attention[].valid_to", "64", "4", {}, Effect::reported),
      row("fitted.verify_attention[].source", "measurement", "publication", {}, Effect::reported),
      row("fitted.verify_attention[].reference", "one", "two", {}, Effect::reported),
      row("fitted.elementwise.t0", "2 us", "9 us"),
      row("fitted.elementwise.source", "measurement", "publication", {}, Effect::reported),
      row("fitted.elementwise.reference", "one", "two", {}, Effect::reported),
      row("launches.decode", "decode", "mixed", mixed),
      row("launches.several_queries", "once", "prefill", mixed),
      row("launches.prefill", "prefill", "mixed",
          {.mixed = true, .base = recomputed({"workload.closed={concurrency: 1}"})}),
      row("launches.mixed", "apart", "mixed", mixed),
      row("launches.source", "measurement", "publication", mixed, Effect::reported),
      row("launches.reference", "one", "two", mixed, Effect::reported),
      row("fitted.mixed_attention[].empty_tile", "2 ns", "90 ns", mixed),
      row("fitted.mixed_attention[].decode_overhead_tokens", "-90", "300", mixed),
      row("tables.linear[].weights", "bf16", "fp8", tables, Effect::refused),
      row("tables.linear[].n", "6144", "6145", tables),
      row("tables.linear[].k", "4096", "4097", tables),
      row("tables.linear[].points[].size", "512", "64", tables),
      row("tables.linear[].points[].seconds", "80 us", "400 us", tables),
      row("tables.linear[].source", "measurement", "publication", tables, Effect::reported),
      row("tables.linear[].reference", "one", "two", tables, Effect::reported),
      row("tables.decode_attention[].kv", "bf16", "fp8", tables, Effect::refused),
      row("tables.decode_attention[].heads", "32", "16", tables),
      row("tables.decode_attention[].kv_heads", "8", "4", tables),
      row("tables.decode_attention[].head_dim", "128", "64", tables),
      row("tables.decode_attention[].warm", "false", "true", tables),
      row("tables.decode_attention[].kv_lengths[]", "32000", "20000", tables),
      row("tables.decode_attention[].rows[].requests", "32", "16", tables),
      row("tables.decode_attention[].rows[].seconds[]", "1.5 ms", "3 ms", tables),
      row("tables.decode_attention[].source", "measurement", "publication", tables, Effect::reported),
      row("tables.decode_attention[].reference", "one", "two", tables, Effect::reported),
      row("tables.sampler[].size", "64", "16", tables),
      row("tables.sampler[].seconds", "60 us", "600 us", tables),
      row("tables.sampler_source", "measurement", "publication", tables, Effect::reported),
      row("tables.sampler_reference", "one", "two", tables, Effect::reported),
  };
  // What L2 does to KV counts where a table was measured warm; its machine's L2 decides there too.
  Fixture warm = tables;
  const auto warm_row = [&](const std::string& path, const std::string& a, const std::string& b) {
    KeyRow r = row(path, a, b, warm);
    for (std::string* value : {&r.a, &r.b}) value->replace(value->find("warm: false"), 11, "warm: true");
    rows.push_back(r);
  };
  warm_row("machine.l2_cache", "50 MiB", "48 MiB");
  warm_row("fitted.decode_attention[].stream.l2_efficiency", "2", "4");
  warm_row("fitted.decode_attention[].stream.l2_share", "0.8", "40");
  warm_row("fitted.decode_attention[].stream.l2_width", "0.4", "2");
  rows.push_back(row("fitted.decode_attention[].stream.bandwidth_efficiency", "0.9", "0.5"));
  KeyRow fp8 = row("machine.fp8_peak", "1979 TFLOP/s", "1 TFLOP/s",
                   {.tables = true, .base = {"cluster.gpu.type=h200", "model.weight_bytes_per_parameter=1"}});
  for (std::string* value : {&fp8.a, &fp8.b}) {
    for (auto at = value->find("weights: bf16"); at != std::string::npos; at = value->find("weights: bf16")) {
      value->replace(at, 13, "weights: fp8");
    }
  }
  fp8.effect = Effect::refused;  // the table's times beat so slow a machine
  rows.push_back(fp8);
  add_error(rows, "fitted.linear[].", {});
  add_error(rows, "fitted.decode_attention[].", {});
  add_error(rows, "fitted.verify_attention[].", {});
  add_stream(rows, "fitted.elementwise.", prefilling);
  add_stream(rows, "fitted.mixed_attention[].", mixed);
  add_correction(rows, "fitted.decode_attention[].", "walks", {});
  add_tiled(rows, "fitted.prefill_attention[].", prefilling);
  add_tiled(rows, "fitted.mixed_attention[].", mixed);
  add_experts(rows);
  add_latents(rows);
  return rows;
}

}  // namespace kvsim::testing
