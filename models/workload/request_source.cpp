#include "models/workload/request_source.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/schema/error.h"

namespace kvsim::models {
namespace {

template <class Part, class Spec, class... More>
Part checked(const char* what, const Spec& spec, More&... more) {
  if (const std::string problem = problem_with(spec); !problem.empty()) {
    throw schema::InputError(std::string(what) + ": " + problem);
  }
  return Part(spec, more...);
}

/// The laws of a workload without classes, as its only one.
RequestClass only_class(const GeneratedWorkload& workload) {
  return {{}, 1, workload.prompt, workload.output, workload.prefixes};
}

}  // namespace

RequestSource::RequestSource(const GeneratedWorkload& workload, WorkloadStreams streams)
    : with_blocks_(workload.with_blocks), with_answers_(workload.with_answers), streams_(std::move(streams)) {
  const bool has_prefix_streams = streams_.prefixes && streams_.prefix_lengths;
  const bool needs_named = workload.sessions || !workload.classes.empty();
  if (!streams_.arrivals || !streams_.prompts || !streams_.outputs || (workload.prefixes && !has_prefix_streams) ||
      (workload.chunks && !streams_.chunks) || (needs_named && !streams_.named)) {
    throw std::invalid_argument("RequestSource: a random stream is missing");
  }
  const int beginnings = (workload.prefixes ? 1 : 0) + (workload.chunks ? 1 : 0);
  if (beginnings > 1) {
    throw std::invalid_argument("RequestSource: prompts begin with prefixes or with chunks, not with both");
  }
  if (needs_named && (workload.chunks || (workload.sessions && !workload.classes.empty()))) {
    throw std::invalid_argument("RequestSource: chunks, sessions and classes do not go together");
  }
  if (workload.classes.empty()) {
    add_kind(only_class(workload), 0, std::move(streams_.prompts), std::move(streams_.outputs),
             std::move(streams_.prefixes), streams_.prefix_lengths.get());
  }
  std::size_t prefixes = 0;
  for (const RequestClass& of : workload.classes) {
    // By name, so that a class draws the same lengths whatever others there are.
    const auto own = [&](const char* what) { return streams_.named(std::string(what) + of.name, 0); };
    const auto lengths = own("prefix lengths of ");
    add_kind(of, prefixes, own("prompts of "), own("outputs of "), own("prefixes of "), lengths.get());
    if (of.prefixes) prefixes += static_cast<std::size_t>(of.prefixes->count);
  }
  if (!workload.classes.empty()) which_kind_ = streams_.named("classes", 0);
  if (workload.arrivals) arrivals_ = checked<ArrivalProcess>("arrivals", *workload.arrivals);
  if (workload.chunks) {
    chunks_ = checked<SharedChunks>("chunks", *workload.chunks);
    chunk_tokens_ = workload.chunks->tokens;
  }
  if (workload.sessions) {
    if (const std::string problem = problem_with(*workload.sessions); !problem.empty()) {
      throw schema::InputError("sessions: " + problem);
    }
    sessions_.emplace(*workload.sessions, kinds_.front().output, streams_.named);
    shares_prefixes_ = true;
  }
}

void RequestSource::add_kind(const RequestClass& of, std::size_t first_prefix, std::unique_ptr<RandomSource> prompts,
                             std::unique_ptr<RandomSource> outputs, std::unique_ptr<RandomSource> which_prefix,
                             RandomSource* prefix_lengths) {
  Kind kind{checked<LengthSampler>("prompt", of.prompt),
            checked<LengthSampler>("output", of.output),
            std::nullopt,
            std::move(prompts),
            std::move(outputs),
            std::move(which_prefix),
            (kinds_.empty() ? 0 : kinds_.back().up_to) + of.share};
  if (of.prefixes) {
    if (const std::string problem = problem_with(*of.prefixes); !problem.empty()) {
      throw schema::InputError("prefixes: " + problem);
    }
    kind.prefixes.emplace(*of.prefixes, *prefix_lengths, first_prefix);
    shares_prefixes_ = true;
  }
  kinds_.push_back(std::move(kind));
}

std::size_t RequestSource::draw_kind() {
  if (!which_kind_) return 0;
  const double at = which_kind_->uniform() * kinds_.back().up_to;
  const auto above = std::find_if(kinds_.begin(), kinds_.end() - 1, [at](const Kind& kind) { return at < kind.up_to; });
  return static_cast<std::size_t>(above - kinds_.begin());
}

RequestSpec RequestSource::next() {
  RequestSpec request;
  request.id = next_id_++;
  const std::size_t drawn = draw_kind();
  Kind& kind = kinds_[drawn];
  request.kind = static_cast<std::uint32_t>(drawn);
  request.prompt_tokens = kind.prompt.sample(*kind.prompts);
  request.output_tokens = kind.output.sample(*kind.outputs);
  if (arrivals_) request.arrival_ns = arrivals_->next(*streams_.arrivals);
  if (kind.prefixes) add_prefix(request, kind);
  if (chunks_) add_chunks(request);
  if (sessions_) {
    sessions_->begin(request);
    add_session_blocks(request);
  }
  return request;
}

std::vector<RequestSpec> RequestSource::begin_sub_agents(std::int64_t session) {
  std::vector<RequestSpec> first = sessions_->begin_sub_agents(session);
  for (RequestSpec& request : first) {
    request.id = next_id_++;
    add_session_blocks(request);
  }
  return first;
}

RequestSpec RequestSource::next_turn(std::int64_t session) {
  RequestSpec request = sessions_->next_turn(session);
  request.id = next_id_++;
  add_session_blocks(request);
  return request;
}

void RequestSource::add_prefix(RequestSpec& request, Kind& kind) {
  const SharedPrefixes& prefixes = *kind.prefixes;
  const std::size_t prefix = prefixes.draw(*kind.which_prefix);
  request.prompt_tokens = std::min(prefixes.tokens(prefix) + request.prompt_tokens, max_request_tokens);
  request.context = static_cast<std::int64_t>(prefixes.first() + prefix);
  request.context_tokens = std::min(prefixes.tokens(prefix), request.prompt_tokens);
  if (with_blocks_ && !sessions_) request.prefix_blocks = prefixes.blocks(prefix, request.prompt_tokens, request.id);
}

/// Whole blocks alone: of one that is partly filled, the next turn has the rest, too, and it is not the same.
void RequestSource::add_session_blocks(RequestSpec& request) const {
  if (!with_blocks_) return;
  const std::int64_t tokens = request.prompt_tokens + (with_answers_ ? request.output_tokens : 0);
  const std::int64_t whole = tokens / SharedPrefixes::block_tokens * SharedPrefixes::block_tokens;
  const auto& prefixes = kinds_.front().prefixes;
  const std::uint64_t identity = sessions_->identity(request.session);
  request.prefix_blocks = prefixes && request.context >= 0
                              ? prefixes->blocks(static_cast<std::size_t>(request.context), whole, identity)
                              : session_blocks(identity, whole, SharedPrefixes::block_tokens);
}

void RequestSource::add_chunks(RequestSpec& request) {
  request.chunks = chunks_->draw(*streams_.chunks(request.id));
  request.chunk_tokens = chunk_tokens_;
  const std::int64_t of_chunks = std::ssize(request.chunks) * chunk_tokens_;
  request.prompt_tokens = std::min(of_chunks + request.prompt_tokens, max_request_tokens);
  if (with_blocks_) request.prefix_blocks = SharedChunks::chain(request.chunks);
}

}  // namespace kvsim::models
