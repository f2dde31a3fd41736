// What operators of a simulated step reach of the datasheet peaks, against medians of published kernel tables.
#include <fmt/format.h>

#include "models/catalogue/catalogue.h"
#include "models/kernels/step_time.h"
#include "tools/validation/groups/groups.h"

namespace kvsim::validation {
namespace {

struct Machine {
  const char* gpu;
  double linear_16;                    ///< share of bandwidth at 16 tokens, weights above 100 MB
  double decode_attention;             ///< share of bandwidth at 2 GB of KV per layer
  double linear_512, linear_2048;      ///< share of bf16 FLOP/s at so many tokens
  double attention_4k, attention_16k;  ///< share of bf16 FLOP/s, causal prefill
};

constexpr Machine kMachines[] = {{"a100", 0.72, 0.79, 0.79, 0.89, 0.52, 0.57},
                                 {"h100-sxm", 0.825, 0.90, 0.83, 0.81, 0.56, 0.62}};

class Reached {
 public:
  explicit Reached(const char* gpu, double kv_bytes_per_element = 2)
      : catalogue_(models::Catalogue::built_in()),
        gpu_(catalogue_.gpu(gpu)),
        model_(with_kv(catalogue_.model("llama-3.1-70b"), kv_bytes_per_element)),
        timer_(gpu_, catalogue_.link(gpu_.peer_link), catalogue_.profile(gpu_.profile), model_, 1) {}

  [[nodiscard]] double decode_attention(double bytes_per_layer) const {
    models::StepWork work;
    work.decode.query_tokens = 1;
    work.decode.kv_bytes = bytes_per_layer * static_cast<double>(model_.layers);
    return work.decode.kv_bytes / timer_.time(work).attention_s / gpu_.memory_bytes_per_s.value;
  }

  /// Seconds of decode attention, all layers, of one request with so many tokens of KV.
  [[nodiscard]] double decode_s(double tokens) const {
    models::StepWork work;
    work.decode.query_tokens = 1;
    work.decode.kv_bytes = tokens * static_cast<double>(model_.kv_bytes_per_token());
    work.decode.pairs = tokens;
    return timer_.time(work).attention_s;
  }

  /// Share of the memory bandwidth at which the body's weights are read for so many tokens.
  [[nodiscard]] double streaming(double tokens) const {
    models::StepWork work;
    work.decode.query_tokens = tokens;
    const double head = 2.0 * static_cast<double>(model_.vocabulary * model_.hidden);
    const double bytes = (model_.linear_flops_per_token() - head) / 2 * model_.weight_bytes_per_parameter;
    return bytes / timer_.time(work).linear_s / gpu_.memory_bytes_per_s.value;
  }

  [[nodiscard]] double linear(double tokens) const {
    models::StepWork work;
    work.prefill.query_tokens = tokens;
    const double head = 2.0 * static_cast<double>(model_.vocabulary * model_.hidden);
    return (model_.linear_flops_per_token() - head) * tokens / timer_.time(work).linear_s / gpu_.bf16_flops_per_s.value;
  }

  [[nodiscard]] double prefill_attention(double tokens) const {
    models::StepWork work;
    work.prefill.query_tokens = tokens;
    work.prefill.pairs = tokens * (tokens + 1) / 2;
    const double flops = work.prefill.pairs * model_.attention_flops_per_pair();
    return flops / timer_.time(work).attention_s / gpu_.bf16_flops_per_s.value;
  }

 private:
  static models::LlmSpec with_kv(models::LlmSpec model, double bytes_per_element) {
    model.kv_bytes_per_element = bytes_per_element;
    return model;
  }

  models::Catalogue catalogue_;
  models::GpuSpec gpu_;
  models::LlmSpec model_;
  models::StepTimer timer_;
};

}  // namespace

std::vector<Figure> kernel_figures(const Inputs&) {
  std::vector<Figure> figures;
  for (const Machine& m : kMachines) {
    const Reached reached(m.gpu);
    const auto add = [&](const char* name, const char* what, double expected, double simulated) {
      Figure& f = figures.emplace_back();
      f.id = fmt::format("kernels/{}.{}", m.gpu, name);
      f.what = what;
      f.unit = "of peak";
      f.expected = expected;
      f.simulated = simulated;
      f.tolerance = 0.08;
      f.source = "medians over kernel tables of aiconfigurator (Apache-2.0), vLLM, bf16";
      f.assumptions = {"operators of a Llama-3.1-70B step on one GPU; memory is not asked whether it fits"};
    };
    add("decode_attention", "decode attention, 2 GB of KV", m.decode_attention, reached.decode_attention(2e9));
    add("linear.16", "weights read for 16 tokens", m.linear_16, reached.streaming(16));
    add("linear.512", "linear layers, 512 tokens", m.linear_512, reached.linear(512));
    add("linear.2048", "linear layers, 2048 tokens", m.linear_2048, reached.linear(2048));
    add("prefill.4k", "causal attention, 4k tokens", m.attention_4k, reached.prefill_attention(4096));
    add("prefill.16k", "causal attention, 16k tokens", m.attention_16k, reached.prefill_attention(16384));
  }
  Figure& ratio = figures.emplace_back();
  ratio.id = "kernels/h100-sxm.fp8_kv";
  ratio.what = "decode time, fp8 over bf16 KV";
  ratio.unit = "";
  ratio.expected = 0.57;
  const double tokens = 2e9 / 4096;  // bf16, one layer
  ratio.simulated = Reached("h100-sxm", 1).decode_s(tokens) / Reached("h100-sxm").decode_s(tokens);
  ratio.tolerance = 0.08;
  ratio.source = "median over kernel tables of aiconfigurator (Apache-2.0), vLLM";
  ratio.assumptions = {"vLLM's kernels; SGLang's ratio is 0.74, TensorRT-LLM's 0.52, which no shipped profile claims"};
  return figures;
}

}  // namespace kvsim::validation
