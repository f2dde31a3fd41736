#include "sim/reuse/chunk_reuse.h"

#include <fmt/format.h>

#include <limits>

#include "models/reuse/rag_task.h"
#include "sim/reuse/reuse_times.h"

namespace kvsim::reuse {

using engine::Callback;

Scorers::Scorers(engine::Simulator& simulator, std::size_t replicas, std::size_t gpus) : simulator_(simulator) {
  for (std::size_t i = 0; i < replicas; ++i) pools_.push_back(std::make_unique<engine::ServerPool>(simulator, gpus));
}

void Scorers::submit(std::size_t replica, engine::Duration score, engine::Duration align, Callback done) {
  const auto slot = jobs_.acquire();
  slot.value = {align, done};
  pools_[replica]->submit(score, Callback::to<&Scorers::on_scored>(this, slot.id));
}

void Scorers::on_scored(std::uint64_t id) {
  const Job job = jobs_[id];
  jobs_.release(id);
  simulator_.schedule_in(job.align, job.done);
}

double Scorers::work_s() const {
  double sum = 0;
  for (const auto& pool : pools_) sum += pool->work_s();
  return sum;
}

using serving::PromptAssembly;
using serving::Request;
using serving::StoredPrefix;

ChunkReuse::ChunkReuse(const serving::RunEnvironment& environment, const cache::FutureUses* future)
    : config_(environment.config),
      spec_(*environment.config.reuse),
      chunks_(environment.simulator, environment.fabric, environment.config, environment.prefix_block_tokens, future),
      times_(environment.config),
      rows_(spec_, config_.scored_prompts, config_.run.seed) {
  if (chooses_tokens(spec_) && spec_.speculative.gpus > 0) {
    scorers_.emplace(environment.simulator, static_cast<std::size_t>(config_.cluster.replicas()),
                     static_cast<std::size_t>(spec_.speculative.gpus));
  }
}

void ChunkReuse::connect(std::vector<transport::GroupLanes> replicas) {
  chunks_.connect(std::move(replicas));
  if (config_.placement->preload) chunks_.preload(*config_.chunks);
}

std::string ChunkReuse::refusal(const Request& r, const models::RequestSpec&, std::int64_t kv_bytes) const {
  return scoring_problem(config_, times_, r.prompt, r.output, kv_bytes);
}

void ChunkReuse::arrived(const Request& r, const models::RequestSpec& spec, std::size_t replica) {
  Prompt prompt;
  prompt.replica = replica;
  prompt.chunks = static_cast<std::int64_t>(spec.chunks.size());
  prompt.chunk_tokens = spec.chunk_tokens;
  prompt.rows = rows_.rows(spec.id, prompt.chunks, prompt.chunk_tokens);
  prompt.first_layer_s = first_layer_of(spec_, times_, described(r, prompt));
  prompts_.emplace(r.id, prompt);
  chunks_.arrived(r, spec, replica);
}

StoredPrefix ChunkReuse::find(const Request& r) const {
  const Prompt& prompt = prompts_.at(r.id);
  StoredPrefix prefix = chunks_.find(r);
  const double score = relative_score(config_, config_.tasks[r.id % config_.tasks.size()], prompt.chunks);
  if (score < 1) {
    prefix.quality *= score;
    prefix.step_kl = std::numeric_limits<double>::quiet_NaN();            // nobody has published it
  } else if (prompt.rows.count == prompt.chunks * prompt.chunk_tokens) {  // nothing of what is stored is used
    prefix.quality = 1;
    prefix.step_kl = 0;
  }
  return prefix;
}

ChunkPrompt ChunkReuse::described(const Request& r, const Prompt& prompt) const {
  ChunkPrompt p;
  p.chunks = prompt.chunks;
  p.chunk_tokens = prompt.chunk_tokens;
  p.prompt = r.prompt;
  p.target = r.prefill.target;
  p.rows = prompt.rows;
  p.first_layer_s = prompt.first_layer_s;
  return p;
}

std::unique_ptr<PromptAssembly> ChunkReuse::assembly(const Request& r) const {
  const Prompt& prompt = prompts_.at(r.id);
  ChunkPrompt p = described(r, prompt);
  p.stored = r.prefix->tokens;
  p.dropped = r.prefix->dropped;
  // The first chunk is where it was when it was stored.
  p.moved = r.prefix->tokens - (chunks_.has_first(r) ? prompt.chunk_tokens : 0);
  return std::make_unique<PromptAssembly>(assembly_of(spec_, times_, p));
}

void ChunkReuse::select_elsewhere(const Request& r, engine::Callback on_selected) {
  scorers_->submit(prompts_.at(r.id).replica, engine::from_seconds(times_.score_s(r.prompt)),
                   engine::from_seconds(times_.align_s(r.prompt)), on_selected);
}

std::optional<serving::ProfilingWork> ChunkReuse::finished(const Request& r) {
  prompts_.erase(r.id);
  return chunks_.finished(r);
}

std::vector<std::string> ChunkReuse::fallbacks() const {
  std::vector<std::string> said;
  for (const std::string& reason : times_.small_fallbacks()) {
    said.push_back(fmt::format("{}, which chooses tokens: {}", spec_.speculative.model.name, reason));
  }
  return said;
}

void ChunkReuse::start_measuring() {
  chunks_.start_measuring();
  scorers_before_s_ = scorers_ ? scorers_->work_s() : 0;
}

void ChunkReuse::finish_measuring(serving::Measurements& measured) {
  chunks_.finish_measuring(measured);
  if (scorers_) measured.reuse.scorers_busy_s += scorers_->work_s() - scorers_before_s_;
}

}  // namespace kvsim::reuse
