#include <fmt/format.h>

#include "models/calibration/table_kind.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

template <class Sample>
Sample sample_of(const TableRow& row, NumberFormat kv, std::optional<NumberFormat> projections) {
  const MlaShape mla = latent_model(1).mla;
  Sample sample;
  sample.from = row.source();
  sample.kv = kv;
  sample.seconds = row.number("measured_ms") * kMillisecond;
  sample.block = {static_cast<double>(mla.kv_lora_rank + mla.qk_rope_head_dim), std::string(row.text("kernel")),
                  projections, row.number("num_heads"), 0};
  return sample;
}

void add(const TableRow& row, std::optional<NumberFormat> projections, Readings& into) {
  const auto kv = format_of(row.text("kv_dtype"));
  if (!kv || (*kv != NumberFormat::bf16 && *kv != NumberFormat::fp8)) {
    into.refused.push_back({row.origin(), fmt::format("KV in {}: profiles have bf16 and fp8", row.text("kv_dtype"))});
    return;
  }
  const MlaShape mla = latent_model(1).mla;
  if (row.text("phase") == "decode") {
    auto sample = sample_of<DecodeSample>(row, *kv, projections);
    sample.shape = absorbed_shape(mla, row.number("num_heads"));
    sample.requests = row.number("batch");
    sample.kv_length = row.number("length");
    sample.warm = row.text("framework") != "kvsim";
    into.samples.latent_decode.push_back(std::move(sample));
  } else if (row.text("phase") == "prefill") {
    auto sample = sample_of<TiledSample>(row, *kv, projections);
    sample.shape = expanded_shape(mla, row.number("num_heads"));
    sample.chunks = row.number("batch");
    sample.tokens = row.number("length");
    into.samples.latent_prefill.push_back(std::move(sample));
  } else {
    into.refused.push_back({row.origin(), fmt::format("phase {}: expected decode or prefill", row.text("phase"))});
  }
}

}  // namespace

LlmSpec latent_model(double heads) {
  LlmSpec m;
  m.name = "DeepSeek-V3's attention";
  m.layers = 1;
  m.hidden = 7168;
  m.heads = m.kv_heads = static_cast<std::int64_t>(heads);
  m.attention = AttentionKind::mla;
  m.mla = {1536, 512, 128, 64, 128};
  return m;
}

void add_latent(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  if (row.text("framework") == "vllm" && row.text("version") == "0.14.0") {
    into.refused.push_back({row.origin(),
                            "attention alone, launched from Python: what a step takes of it is less than such a "
                            "launch (0.13 to 0.35 ms)"});
    return;
  }
  add(row, std::nullopt, into);
}

void add_latent_block(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const auto projections = format_of(row.text("projection_dtype"));
  if (!projections) {
    into.refused.push_back({row.origin(), fmt::format("projections in {}: profiles have bf16, fp8, fp8_block and nvfp4",
                                                      row.text("projection_dtype"))});
    return;
  }
  add(row, projections, into);
}

}  // namespace kvsim::models
