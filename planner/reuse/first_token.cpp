#include "planner/reuse/first_token.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "planner/policy_words.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"
#include "sim/serving/step_parts.h"
#include "sim/systems/systems.h"

namespace kvsim::planner {

using schema::InputError;

LoadPath load_path(const serving::ServingConfig& config, const std::string& tier) {
  const serving::ClusterConfig& cluster = config.cluster;
  const models::LinkSpec& link = cluster.uniform().host_link;
  LoadPath path;
  path.tier = tier;
  path.link = link.name;
  path.bytes_per_s = link.read_bytes_per_s.value * static_cast<double>(cluster.uniform().parallel.tensor);
  path.fixed_s = link.setup_s.value + link.latency_s.value;
  if (tier == "host") return path;
  const auto named = [&](const serving::StorageTierConfig& t) { return t.name == tier; };
  const auto at = std::find_if(cluster.storage.begin(), cluster.storage.end(), named);
  if (at == cluster.storage.end()) {
    std::vector<std::string> names{"host"};
    for (const serving::StorageTierConfig& t : cluster.storage) names.push_back(t.name);
    throw InputError(fmt::format("--tier {}: there is no such tier: expected {}", tier, fmt::join(names, ", ")));
  }
  path.by_storage = at->read_bytes_per_s < path.bytes_per_s;
  path.bytes_per_s = std::min(path.bytes_per_s, at->read_bytes_per_s);
  path.fixed_s += at->latency_s;
  return path;
}

models::LinkSpec link_asked_for(const std::string& text, const models::LinkSpec& own,
                                const models::Catalogue& catalogue) {
  if (catalogue.contains(models::EntryKind::link, text)) return catalogue.link(text);
  const bool number = !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
  if (!number) {
    throw InputError(fmt::format(
        "--link {}: neither a link of the catalogue (kvsim list links) nor a bandwidth of one GPU such as 5 GB/s",
        text));
  }
  models::LinkSpec link = own;
  link.name = "a link of " + text;
  try {
    link.read_bytes_per_s.value = schema::parse_bandwidth(text);
  } catch (const schema::UnitError& e) {
    throw InputError(fmt::format("--link {}: {}", text, e.what()));
  }
  if (!(link.read_bytes_per_s.value > 0)) {
    throw InputError(fmt::format("--link {}: expected a bandwidth above 0, such as 5 GB/s", text));
  }
  return link;
}

namespace {

using serving::PrefillKind;

constexpr std::array<PromptMethod, 6> kMethods{PromptMethod::recompute,  PromptMethod::load,
                                               PromptMethod::full_reuse, PromptMethod::epic,
                                               PromptMethod::cacheblend, PromptMethod::selective};
constexpr std::int64_t kPrompts = 64;  // of a file, averaged over: the first ones
constexpr std::int64_t kSignals = 4;   // averaged over: what is chosen of them differs by less than a span

PrefillKind prefill_of(PromptMethod method) {
  constexpr std::array kKinds{PrefillKind::recompute, PrefillKind::prefix_cache, PrefillKind::full_reuse,
                              PrefillKind::epic,      PrefillKind::cacheblend,   PrefillKind::selective};
  return kKinds.at(static_cast<std::size_t>(method));
}

/// Under this method; where the scenario stores nothing, as if it had room for it in host memory.
scenario::Scenario under(const scenario::Scenario& s, PromptMethod method) {
  std::vector<schema::Assignment> changes = prefill_changes(prefill_of(method));
  if (!s.written->serving.placement) changes.push_back({"placement.policy", models::PlacementSpec{}.policy});
  const serving::ClusterConfig& cluster = s.serving.cluster;
  if (cluster.uniform().host_memory_bytes == 0 && cluster.storage.empty())
    changes.push_back({"cluster.host.memory", "1 B"});
  return scenario::with(s, changes);
}

std::string quantity(std::int64_t bytes) {
  return schema::round_quantity(schema::Dimension::bytes, static_cast<double>(bytes));
}

}  // namespace

std::span<const PromptMethod> prompt_methods() {
  return kMethods;
}

std::string_view name_of(PromptMethod method) {
  constexpr std::array<std::string_view, 6> kNames{"recompute", "load",       "full_reuse",
                                                   "epic",      "cacheblend", "selective"};
  return kNames[static_cast<std::size_t>(method)];
}

std::string_view words_of(Binding binding) {
  constexpr std::array<std::string_view, 3> kWords{"loading", "scoring", "computing"};
  return kWords[static_cast<std::size_t>(binding)];
}

Binding FirstToken::binding(const LoadPath& path) const {
  const double load_s = path.load_s(loaded_bytes);
  const double before_s = std::max(load_s, ready_s());
  if (alone_s >= before_s || after_s >= before_s) return Binding::computing;
  return load_s >= before_s ? Binding::loading : Binding::scoring;
}

FirstTokenModel::FirstTokenModel(const scenario::Scenario& scenario, PromptMethod method)
    : method_(method),
      scenario_(under(scenario, method)),
      geometry_(serving::configured_geometry(config(), config().cluster.uniform())),
      timer_(serving::step_timer(config(), config().cluster.uniform(), config().cluster.uniform().parallel.tensor)) {
  if (!blends(method)) return;
  times_.emplace(config());
  const models::ReuseSpec& spec = *config().reuse;
  const bool generated = spec.importance.source == models::ImportanceSource::generated;
  const auto signals = generated ? spec.importance.signals : static_cast<std::int64_t>(config().scored_prompts->size());
  if (method == PromptMethod::selective)
    signals_ = std::clamp<std::int64_t>(signals, 1, generated ? kSignals : kPrompts);
  rows_.emplace(spec, config().scored_prompts, config().run.seed);
}

/// In chunks of a full iteration, the last one with logits.
double FirstTokenModel::prefill_s(std::int64_t before, std::int64_t tokens) const {
  double total = 0;
  for (std::int64_t done = before; done < tokens;) {
    const std::int64_t chunk = std::min(config().schedule.max_batched_tokens, tokens - done);
    models::StepWork work;
    serving::add_chunk(work, geometry_, done, chunk, done + chunk == tokens);
    total += timer_.time(work).total_s;
    done += chunk;
  }
  return total;
}

double FirstTokenModel::rows_s(const serving::PromptAssembly& a, std::int64_t tokens) const {
  double total = 0;
  for (std::int64_t done = 0; done < a.rows;) {
    const std::int64_t rows = std::min(config().schedule.max_batched_tokens, a.rows - done);
    models::StepWork work;
    serving::add_rows(work, geometry_, rows, a.before + static_cast<double>(done), tokens, done + rows == a.rows);
    work.extra_gpu_s = a.first_layer_s * static_cast<double>(rows) / static_cast<double>(a.rows);
    if (done == 0) work.extra_gpu_s += a.recover_s;
    total += timer_.time(work).total_s;
    done += rows;
  }
  return total;
}

/// Missing chunks and the small model take part in the same iterations, of so many tokens each.
void FirstTokenModel::add_side_by_side(const serving::PromptAssembly& a, std::int64_t tokens, FirstToken& out) const {
  const std::int64_t most = config().schedule.max_batched_tokens;
  if (a.selects && a.scored_here == 0) out.select_s = times_->score_s(tokens) + times_->align_s(tokens);
  double now = 0;
  for (std::int64_t alone = 0, scored = 0; alone < a.apart || scored < a.scored_here;) {
    models::StepWork work;
    const std::int64_t alone_end = std::min(a.apart, alone + most);
    serving::add_chunks_alone(work, geometry_, a.apart_unit, alone, alone_end);
    const std::int64_t scored_end = std::min(a.scored_here, scored + most);
    if (scored_end > scored) {
      const models::PrefillChunk chunk{static_cast<double>(scored_end - scored), static_cast<double>(scored)};
      work.extra_gpu_s = times_->scoring_s({&chunk, 1});
    }
    now += timer_.time(work).total_s;
    if (alone_end > alone) out.alone_s = now;
    if (scored_end > scored) out.select_s = now + a.align_s;
    alone = alone_end;
    scored = scored_end;
  }
}

reuse::ChunkRows FirstTokenModel::mean_rows(const PromptShape& prompt) const {
  double count = 0, positions = 0;
  for (std::int64_t i = 0; i < signals_; ++i) {
    const reuse::ChunkRows rows = rows_->rows(static_cast<std::uint64_t>(i), prompt.chunks, prompt.chunk_tokens);
    count += static_cast<double>(rows.count);
    positions += rows.positions;
  }
  const auto n = static_cast<double>(signals_);
  return {std::llround(count / n), positions / n};
}

FirstToken FirstTokenModel::at(const PromptShape& prompt, double hit_rate) const {
  FirstToken out;
  if (method_ == PromptMethod::recompute) {
    out.computed_tokens = prompt.context();
    out.after_s = prefill_s(0, prompt.tokens());
    return out;
  }
  const std::int64_t found = prompt.found(hit_rate);
  out.loaded_tokens = found * prompt.chunk_tokens;
  out.loaded_bytes = static_cast<double>(geometry_.full_transfer(out.loaded_tokens));
  if (method_ == PromptMethod::load) {
    out.computed_tokens = prompt.context() - out.loaded_tokens;
    out.after_s = prefill_s(out.loaded_tokens, prompt.tokens());
    return out;
  }
  const models::ReuseSpec& spec = *config().reuse;
  reuse::ChunkPrompt p;
  p.chunks = prompt.chunks;
  p.chunk_tokens = prompt.chunk_tokens;
  p.prompt = p.target = prompt.tokens();
  p.stored = out.loaded_tokens;
  p.moved =
      out.loaded_tokens - std::llround(static_cast<double>(out.loaded_tokens) / static_cast<double>(prompt.chunks));
  p.rows = mean_rows(prompt);
  p.first_layer_s = reuse::first_layer_of(spec, *times_, p);
  const serving::PromptAssembly a = reuse::assembly_of(spec, *times_, p);
  add_side_by_side(a, prompt.tokens(), out);
  out.computed_tokens = p.rows.count;
  out.after_s = rows_s(a, prompt.tokens());
  return out;
}

std::string FirstTokenModel::problem(const PromptShape& prompt, std::int64_t output) const {
  const serving::ServingConfig& c = config();
  const std::int64_t tokens = prompt.tokens() + output;
  if (tokens > c.model.max_context) {
    return fmt::format("needs a context of {} tokens, {} allows {}", tokens, c.model.name, c.model.max_context);
  }
  const std::int64_t need = geometry_.full_reservation(tokens);
  const std::int64_t room = serving::kv_capacity_bytes(c, c.cluster.uniform(), geometry_);
  if (blends(method_)) {
    try {
      systems::check(c);
    } catch (const serving::ConfigurationError& e) {
      return e.what();
    }
    if (std::string scoring = reuse::scoring_problem(c, *times_, prompt.tokens(), output, room); !scoring.empty()) {
      return scoring;
    }
  }
  if (need <= room) return {};
  return fmt::format("needs {} of KV memory, a replica has {}", quantity(need),
                     quantity(std::max<std::int64_t>(room, 0)));
}

double FirstTokenModel::relative_score(std::int64_t chunks) const {
  return reuse::mean_relative_score(config(), chunks);
}

double FirstTokenModel::good_share(std::int64_t chunks, double floor) const {
  double sum = 0;
  for (const models::RagTask& task : config().tasks) {
    sum += models::good_share(task, reuse::relative_score(config(), task, chunks), floor);
  }
  return sum / static_cast<double>(config().tasks.size());
}

std::string FirstTokenModel::label() const {
  const std::string name(name_of(method_));
  if (!blends(method_) || method_ == PromptMethod::full_reuse) return name;
  return method_ == PromptMethod::epic ? fmt::format("{}, {} tokens", name, config().reuse->link_tokens)
                                       : fmt::format("{}, rho {:.4g}", name, config().reuse->rho);
}

}  // namespace kvsim::planner
