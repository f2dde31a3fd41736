#include "planner/backtest/point_scenario.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/overrides.h"
#include "models/schema/yaml.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/config.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner::backtest {
namespace {

using models::NumberFormat;
using schema::ConfigNode;

ConfigNode quoted(std::string text) {
  return ConfigNode::scalar(std::move(text), true);
}

ConfigNode numeral(auto value) {
  return ConfigNode::scalar(fmt::format("{}", value));
}

ConfigNode tokens(std::int64_t count) {
  return ConfigNode::scalar(fmt::format("{} tokens", count));
}

ConfigNode mapping(std::initializer_list<std::pair<const char*, ConfigNode>> entries) {
  ConfigNode node = ConfigNode::map();
  for (const auto& [key, value] : entries) node.append(key, value);
  return node;
}

/// The format that a point names; `published` where it names none. None: kvsim has no such kernels.
std::optional<NumberFormat> format_of(const std::string& name, NumberFormat published) {
  if (name.empty()) return published;
  if (name == "bf16" || name == "bfloat16" || name == "float16" || name == "fp16") return NumberFormat::bf16;
  // Checkpoints in blocks are called fp8, too.
  if (name == "fp8") return published == NumberFormat::fp8_block ? published : NumberFormat::fp8;
  if (name == "fp8_block") return NumberFormat::fp8_block;
  if (name == "nvfp4" || name == "fp4") return NumberFormat::nvfp4;
  return std::nullopt;
}

/// How a point's GPUs share the work, as keys of cluster.gpu beside its type. The one place that says which
/// parallelism kvsim can describe.
struct Parallelism {
  std::string name;
  std::string out_of_scope;  ///< empty: it can
  std::vector<std::pair<const char*, std::int64_t>> keys;
};

/// Point as launched, where its source has multiplied parts. A launch over n GPUs with n-fold expert parallelism is a
/// row of tensor or attention-data parallelism n x n, expert parts n and n; one whose n GPUs are ranks too is a row of
/// n, n and experts n x n. docs/backtest.md has both readings.
ServingPoint as_launched(ServingPoint p, const PointSource& source) {
  if (!source.multiplied_parts) return p;
  const std::int64_t gpus = p.tensor * p.attention_data;
  const bool one_way = p.tensor == 1 || p.attention_data == 1;
  if (one_way && p.expert > 1 && p.expert_tensor == p.expert && gpus == p.expert * p.expert) {
    (p.tensor > 1 ? p.tensor : p.attention_data) = p.expert;
    p.expert_tensor = 1;
  } else if (p.attention_data > 1 && p.tensor == p.attention_data && p.expert == gpus) {
    p.tensor = 1;
    p.expert = p.attention_data;
  }
  return p;
}

Parallelism parallelism_of(const ServingPoint& p) {
  Parallelism result;
  result.name = fmt::format("tp{}", p.tensor);
  result.keys = {{"tensor_parallel", p.tensor}};
  const auto also = [&result](const char* kind, const char* key, std::int64_t parts) {
    if (parts == 1) return;
    result.name += fmt::format(" {}{}", kind, parts);
    result.keys.emplace_back(key, parts);
  };
  also("pp", "pipeline_parallel", p.pipeline);
  also("dp", "attention_data_parallel", p.attention_data);
  also("ep", "expert_parallel", p.expert);
  if (p.expert_tensor * p.expert > p.tensor * p.attention_data) {
    result.out_of_scope = "experts on more GPUs than attention";
  }
  return result;
}

ConfigNode model_node(const PublishedModel& model, NumberFormat weights, const models::LlmSpec& spec) {
  if (weights == spec.weight_format()) return quoted(model.model);
  return mapping({{"base", quoted(model.model)},
                  {"weight_bytes_per_parameter", numeral(bytes_per_element(weights))},
                  {"weight_format", ConfigNode::scalar(word(weights))}});
}

ConfigNode lengths(std::int64_t longest, double shortest) {
  const auto least = static_cast<std::int64_t>(std::floor(shortest * static_cast<double>(longest)));
  if (least >= longest || least < 1) return tokens(longest);
  return mapping({{"distribution", ConfigNode::scalar("uniform")}, {"min", tokens(least)}, {"max", tokens(longest)}});
}

ConfigNode workload(const ServingPoint& p, const PointSource& source) {
  if (p.recording) {
    return mapping({{"trace", mapping({{"format", ConfigNode::scalar(p.recording->format)},
                                       {"path", quoted(p.recording->path)}})}});
  }
  const std::int64_t requests = p.requests > 0 ? p.requests : p.clients * source.requests_per_client;
  return mapping({{"closed", mapping({{"concurrency", numeral(p.clients)}})},
                  {"context", lengths(p.prompt_tokens, source.shortest)},
                  {"output", lengths(p.output_tokens, source.shortest)},
                  {"requests", numeral(requests)}});
}

/// A drafter of the catalogue that was trained for a model, the first that is; empty: there is none.
std::string drafter_for(const std::string& model, const models::Catalogue& catalogue) {
  for (const auto& line : catalogue.list(models::EntryKind::drafter)) {
    const models::DrafterSpec d = catalogue.drafter(line.name);
    const bool of_hidden_states = d.kind != models::DrafterKind::model;
    const bool of_it = std::find(d.targets.begin(), d.targets.end(), model) != d.targets.end();
    if (of_hidden_states && of_it) return line.name;
  }
  return {};
}

/// One layer of the model before the model's own LM head, as heads of EAGLE are.
ConfigNode one_layer_of(const models::LlmSpec& spec) {
  const std::int64_t experts = (spec.moe.experts_per_token + spec.moe.shared_experts) * spec.moe.expert_intermediate;
  const std::int64_t width = spec.moe.experts > 0 && experts > 0 ? experts : spec.intermediate;
  ConfigNode network = mapping({{"description", quoted("one layer of the model")},
                                {"layers", numeral(1)},
                                {"hidden", numeral(spec.hidden)},
                                {"heads", numeral(spec.heads)},
                                {"kv_heads", numeral(spec.kv_heads)},
                                {"head_dim", numeral(spec.head_dim)},
                                {"intermediate", numeral(width)},
                                {"vocabulary", numeral(spec.vocabulary)},
                                {"tied_embeddings", ConfigNode::scalar("true")},
                                {"max_context", tokens(spec.max_context)}});
  ConfigNode law = mapping({{"law", mapping({{"model", ConfigNode::scalar("constant")}, {"agreement", numeral(0.5)}})},
                            {"source", ConfigNode::scalar("assumption")}});
  return mapping({{"description", quoted("one layer of the model before its LM head")},
                  {"kind", ConfigNode::scalar("head")},
                  {"network", std::move(network)},
                  {"shares_head", ConfigNode::scalar("true")},
                  {"acceptance", std::move(law)},
                  {"draft_length", numeral(1)}});
}

ConfigNode acceptance_law(const PointDrafts& drafts) {
  const bool all = static_cast<std::int64_t>(drafts.positions.size()) == drafts.tokens;
  if (all) {
    ConfigNode positions = ConfigNode::sequence();
    for (const double share : drafts.positions) positions.items().push_back(numeral(share));
    return mapping({{"model", ConfigNode::scalar("positions")}, {"positions", std::move(positions)}});
  }
  ConfigNode points = ConfigNode::sequence();
  points.items().push_back(
      mapping({{"draft_length", numeral(drafts.tokens)}, {"accepted", numeral(drafts.accept_length - 1)}}));
  return mapping({{"model", ConfigNode::scalar("curve")}, {"points", std::move(points)}});
}

/// A drafter of the catalogue; of the model in another number format than there it drafts for that one, too.
ConfigNode drafter_node(const std::string& drafter, const std::string& model, bool changed) {
  if (!changed) return quoted(drafter);
  ConfigNode targets = ConfigNode::sequence();
  targets.items().push_back(quoted(model + " (changed)"));
  return mapping({{"base", quoted(drafter)}, {"name", quoted(drafter)}, {"targets", std::move(targets)}});
}

ConfigNode decode(const ServingPoint& p, const models::LlmSpec& spec, const std::string& drafter, bool changed) {
  if (!p.drafts) return mapping({{"policy", ConfigNode::scalar("full_kv")}});
  return mapping(
      {{"policy", ConfigNode::scalar("drafter")},
       {"drafter", mapping({{"type", drafter.empty() ? one_layer_of(spec) : drafter_node(drafter, spec.name, changed)},
                            {"draft_length", numeral(p.drafts->tokens)},
                            {"acceptance", acceptance_law(*p.drafts)}})}});
}

/// The engine's entry in the catalogue says what the point does not; without one, what schedule does by default.
ConfigNode schedule(const ServingPoint& p, const models::Catalogue& catalogue) {
  ConfigNode node = mapping({{"policy", ConfigNode::scalar("fcfs")}});
  if (!p.recording) node.append("max_requests", numeral(p.clients));
  if (catalogue.contains(models::EntryKind::engine, p.engine)) node.append("engine", quoted(p.engine));
  return node;
}

/// Iterations have room for the tokens of every client.
void make_room(ConfigNode& document, const ServingPoint& p, const models::Catalogue& catalogue) {
  constexpr const char* kKey = "schedule.max_batched_tokens";
  std::int64_t budget = catalogue.contains(models::EntryKind::engine, p.engine)
                            ? catalogue.engine(p.engine).max_batched_tokens.value
                            : serving::ScheduleConfig{}.max_batched_tokens;
  if (const ConfigNode* said = document.find_path(kKey)) budget = std::stoll(said->text());
  const std::int64_t least = p.clients * (p.drafts ? p.drafts->tokens + 1 : 1);
  if (budget < least) schema::apply_set(document, fmt::format("{}={}", kKey, least));
}

ConfigNode assumptions(const ServingPoint& p, const models::Catalogue& catalogue, const PointSource& source,
                       const std::vector<const PointLaunch*>& launches, bool fp8_kv, const std::string& drafter) {
  ConfigNode list = ConfigNode::sequence();
  list.items().push_back(quoted(catalogue.contains(models::EntryKind::engine, p.engine)
                                    ? fmt::format("{} as its entry in the catalogue says", p.engine)
                                    : "an engine that is not known: the schedule's defaults"));
  if (p.recording) {
    list.items().push_back(
        quoted("every request generates its recorded number of tokens, and no prompt finds blocks of "
               "another one"));
  }
  if (!p.recording)
    list.items().push_back(
        quoted(fmt::format("{} requests a client where the point does not say, lengths from {:g} of the longest: {}",
                           source.requests_per_client, source.shortest, source.reference)));
  if (p.drafts) {
    list.items().push_back(quoted(fmt::format("drafted by {}; {:g} tokens a step of {} drafted",
                                              drafter.empty() ? "one layer of the model" : drafter,
                                              p.drafts->accept_length, p.drafts->tokens)));
  }
  if (!fp8_kv) list.items().push_back(quoted("KV in 16 bit"));
  for (const PointLaunch* launch : launches) {
    list.items().push_back(
        quoted(fmt::format("{}: {}", fmt::join(launch->changes(p.prompt_tokens, p.clients), ", "), launch->reference)));
  }
  return list;
}

/// GPU memory holds so many blocks of KV, or stays as it was where the GPUs have less, which is said.
void give_blocks(ConfigNode& document, const ServingPoint& p) {
  ConfigNode whole = document;
  const auto say = [](ConfigNode& of, std::string words) {
    of.find("assumptions")->items().push_back(quoted(std::move(words)));
  };
  say(whole, fmt::format("{} blocks of KV, as recorded", *p.kv_blocks));
  schema::apply_set(whole, fmt::format("cluster.gpu.kv_blocks={}", *p.kv_blocks));
  try {
    (void)scenario::ScenarioFile::from_text(to_yaml(whole), p.id).load();
    document = std::move(whole);
  } catch (const scenario::UnworkableScenario& e) {
    if (e.does_not_fit()) {
      say(document, fmt::format("the recorded {} blocks of KV do not fit: as many as GPUs have", *p.kv_blocks));
    }
  } catch (const schema::InputError&) {
  }
}

/// The first thing that kvsim cannot describe; empty: nothing.
std::string first_problem(const ServingPoint& p) {
  if (!p.mode.empty() && p.mode != "agg") {
    return p.mode == "disagg" ? "prefill and decode on GPUs of their own" : fmt::format("mode {}", p.mode);
  }
  if (p.recording) return p.not_replayed;
  if (p.drafts && p.drafts->tokens == 0) return "drafted, and nobody says how many tokens";
  if (p.drafts && p.drafts->accept_length == 0) return "drafted, and nobody says how many tokens were accepted";
  if (p.rate_per_s > 0) return "requests at a rate, not in a closed loop";
  if (p.clients == 0) return "no concurrency is given";
  return {};
}

}  // namespace

PointScenario point_scenario(const ServingPoint& row, const Published& published, const models::Catalogue& catalogue,
                             const std::vector<std::string>& include) {
  PointScenario result;
  const auto refused = [&result](std::string why) {
    result.out_of_scope = std::move(why);
    return result;
  };
  ServingPoint p = as_launched(row, published.source(row.source));
  Parallelism parallelism = parallelism_of(p);
  result.group = {p.model, p.gpu, p.engine, p.precision, parallelism.name};
  result.out_of_scope = first_problem(p);
  if (!result.out_of_scope.empty()) return result;
  const std::string gpu = published.gpu(p.gpu, catalogue);
  if (gpu.empty()) return refused(fmt::format("GPU not in the catalogue: {}", p.gpu));
  const std::optional<PublishedModel> model = published.model(p.model, catalogue);
  if (!model) return refused(fmt::format("model not in the catalogue: {}", p.model));
  const models::LlmSpec spec = catalogue.model(model->model);
  // A point's fp4 may be a format of the model's own (MXFP4), which is none that kernels were measured in.
  if (!spec.weights_are_measured())
    return refused(fmt::format("weights in a format that no kernels were measured in: {}", p.model));
  if (spec.state.layers > 0 || spec.indexer.layers > 0)
    return refused(fmt::format("layers that no kernels were measured of: {}", p.model));
  if (spec.moe.experts == 0) {  // files say of dense models, too, how their experts are cut
    p.expert = p.expert_tensor = 1;
    parallelism = parallelism_of(p);
  }
  // The experts are most of the weights of a mixture of experts.
  const std::string& of_layers = spec.moe.experts > 0 && !p.experts.empty() ? p.experts : p.weights;
  const std::string& format = of_layers.empty() ? p.precision : of_layers;
  const std::optional<NumberFormat> weights = format_of(format, model->weights);
  if (!weights) return refused(fmt::format("weights in {}", format));
  std::vector<const PointLaunch*> launches;
  const LaunchOf of{p.source,
                    p.engine,
                    p.version,
                    model->model,
                    gpu,
                    std::string(word(*weights)),
                    p.tensor,
                    p.attention_data > 1,
                    p.clients,
                    p.prompt_tokens,
                    p.output_tokens};
  for (const PointLaunch& launch : published.launches) {
    if (!launch.holds_of(of)) continue;
    launches.push_back(&launch);
    if (!launch.out_of_scope.empty()) result.out_of_scope = launch.out_of_scope;
  }
  if (!result.out_of_scope.empty()) return result;
  constexpr const char* kFp8Kv = "model.kv_bytes_per_element=1";
  const bool fp8_kv = std::any_of(launches.begin(), launches.end(), [kFp8Kv](const PointLaunch* launch) {
    return std::find(launch->set.begin(), launch->set.end(), kFp8Kv) != launch->set.end();
  });
  std::string drafter;
  if (p.drafts) {
    drafter = p.drafts->drafter.empty() ? drafter_for(model->model, catalogue) : p.drafts->drafter;
    if (!drafter.empty() && !catalogue.contains(models::EntryKind::drafter, drafter))
      return refused(fmt::format("drafter not in the catalogue: {}", drafter));
    if (drafter.empty() && spec.attention == models::AttentionKind::mla)
      return refused(fmt::format("drafted, and no drafter of the model is known: {}", p.model));
  }
  const PointSource& source = published.source(p.source);
  ConfigNode gpus = mapping({{"type", quoted(gpu)}});
  for (const auto& [key, count] : parallelism.keys) gpus.append(key, numeral(count));
  ConfigNode& document = result.document;
  document = mapping({{"name", quoted(p.id)},
                      {"assumptions", assumptions(p, catalogue, source, launches, fp8_kv, drafter)},
                      {"model", model_node(*model, *weights, spec)},
                      {"cluster", mapping({{"gpu", std::move(gpus)}})},
                      {"workload", workload(p, source)},
                      {"prefill", ConfigNode::scalar("recompute")},
                      {"decode", decode(p, spec, drafter, *weights != spec.weight_format())},
                      {"schedule", schedule(p, catalogue)}});
  if (p.recording && !p.recording->load.empty()) {
    document.append("run", mapping({{"sample_every", ConfigNode::scalar(fmt::format("{} s", kReplaySample_s))}}));
  }
  for (const PointLaunch* launch : launches) {
    for (const std::string& change : launch->changes(p.prompt_tokens, p.clients)) schema::apply_set(document, change);
  }
  for (const std::string& change : p.settings) schema::apply_set(document, change);
  make_room(document, p, catalogue);
  result.group = {model->model, gpu, p.engine,
                  fmt::format("{}{}{}", word(*weights), fp8_kv ? ", KV fp8" : "", p.drafts ? ", drafted" : ""),
                  parallelism.name};
  result.out_of_scope = parallelism.out_of_scope;
  if (!result.out_of_scope.empty()) return result;
  if (!include.empty()) {
    ConfigNode files = ConfigNode::sequence();
    for (const std::string& file : include) files.items().push_back(quoted(file));
    result.document.append("include", std::move(files));
  }
  if (p.kv_blocks) give_blocks(document, p);
  return result;
}

}  // namespace kvsim::planner::backtest
