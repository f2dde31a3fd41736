#include "models/workload/request_source.h"

#include <stdexcept>
#include <utility>

#include "models/schema/error.h"

namespace kvsim::models {
namespace {

template <class Part, class Spec>
Part checked(const char* what, const Spec& spec) {
  if (const std::string problem = problem_with(spec); !problem.empty()) {
    throw schema::InputError(std::string(what) + ": " + problem);
  }
  return Part(spec);
}

}  // namespace

RequestSource::RequestSource(const GeneratedWorkload& workload, WorkloadStreams streams)
    : prompt_(checked<LengthSampler>("prompt", workload.prompt)),
      output_(checked<LengthSampler>("output", workload.output)),
      streams_(std::move(streams)) {
  if (workload.arrivals) arrivals_ = checked<ArrivalProcess>("arrivals", *workload.arrivals);
  if (!streams_.arrivals || !streams_.prompts || !streams_.outputs) {
    throw std::invalid_argument("RequestSource: a random stream is missing");
  }
}

RequestSpec RequestSource::next() {
  RequestSpec request;
  request.id = next_id_++;
  request.prompt_tokens = prompt_.sample(*streams_.prompts);
  request.output_tokens = output_.sample(*streams_.outputs);
  if (arrivals_) request.arrival_ns = arrivals_->next(*streams_.arrivals);
  return request;
}

}  // namespace kvsim::models
