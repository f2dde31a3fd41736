#include "models/workload/request_source.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/schema/error.h"
#include "models/workload/distributions.h"

namespace kvsim::models {
namespace {

template <class Part, class Spec, class... More>
Part checked(const char* what, const Spec& spec, More&... more) {
  if (const std::string problem = problem_with(spec); !problem.empty()) {
    throw schema::InputError(std::string(what) + ": " + problem);
  }
  return Part(spec, more...);
}

}  // namespace

RequestSource::RequestSource(const GeneratedWorkload& workload, WorkloadStreams streams)
    : prompt_(checked<LengthSampler>("prompt", workload.prompt)),
      output_(checked<LengthSampler>("output", workload.output)),
      with_blocks_(workload.with_blocks),
      streams_(std::move(streams)) {
  if (workload.arrivals) arrivals_ = checked<ArrivalProcess>("arrivals", *workload.arrivals);
  const bool has_prefix_streams = streams_.prefixes && streams_.prefix_lengths;
  if (!streams_.arrivals || !streams_.prompts || !streams_.outputs || (workload.prefixes && !has_prefix_streams) ||
      (workload.chunks && !streams_.chunks)) {
    throw std::invalid_argument("RequestSource: a random stream is missing");
  }
  if (workload.prefixes && workload.chunks) {
    throw std::invalid_argument("RequestSource: prompts begin with prefixes or with chunks, not with both");
  }
  if (workload.prefixes) {
    prefixes_ = checked<SharedPrefixes>("prefixes", *workload.prefixes, *streams_.prefix_lengths);
  }
  if (workload.chunks) {
    chunks_ = checked<SharedChunks>("chunks", *workload.chunks);
    chunk_tokens_ = workload.chunks->tokens;
  }
}

RequestSpec RequestSource::next() {
  RequestSpec request;
  request.id = next_id_++;
  request.prompt_tokens = prompt_.sample(*streams_.prompts);
  request.output_tokens = output_.sample(*streams_.outputs);
  if (arrivals_) request.arrival_ns = arrivals_->next(*streams_.arrivals);
  if (prefixes_) add_prefix(request);
  if (chunks_) add_chunks(request);
  return request;
}

void RequestSource::add_prefix(RequestSpec& request) {
  const std::size_t prefix = prefixes_->draw(*streams_.prefixes);
  request.prompt_tokens = std::min(prefixes_->tokens(prefix) + request.prompt_tokens, max_request_tokens);
  request.context = static_cast<std::int64_t>(prefix);
  request.context_tokens = std::min(prefixes_->tokens(prefix), request.prompt_tokens);
  if (with_blocks_) request.prefix_blocks = prefixes_->blocks(prefix, request.prompt_tokens, request.id);
}

void RequestSource::add_chunks(RequestSpec& request) {
  request.chunks = chunks_->draw(*streams_.chunks(request.id));
  request.chunk_tokens = chunk_tokens_;
  const std::int64_t of_chunks = std::ssize(request.chunks) * chunk_tokens_;
  request.prompt_tokens = std::min(of_chunks + request.prompt_tokens, max_request_tokens);
  if (with_blocks_) request.prefix_blocks = SharedChunks::chain(request.chunks);
}

}  // namespace kvsim::models
