#include "models/workload/dataset.h"

#include "models/schemas.h"

namespace kvsim::models {

LengthSpec lengths_of(const DatasetSpec& dataset) {
  LengthSpec lengths;
  lengths.mean = dataset.mean_tokens.value;
  if (dataset.tokens_cv.value > 0) {
    lengths.distribution = Distribution::lognormal;
    lengths.cv = dataset.tokens_cv.value;
  }
  return lengths;
}

namespace {

using namespace schema;

ObjectSchema<DatasetSpec> dataset_fields() {
  ObjectSchema<DatasetSpec> s("dataset",
                              "Contexts that many requests share: how long they are, what compressing them costs.");
  add_entry_fields(s);
  s.required("mean_tokens", &DatasetSpec::mean_tokens,
             number().at_least(1).at_most(static_cast<double>(max_request_tokens)), "mean tokens of a context");
  s.required("tokens_cv", &DatasetSpec::tokens_cv, number().at_least(0).at_most(100),
             "standard deviation / mean of the tokens (log-normal); 0: all alike");
  s.required("sensitivity", &DatasetSpec::sensitivity,
             number().at_least(0).at_most(1).because("it is a share of the score"),
             "median share of the score lost with 90 % of the tokens removed by KeyDiff");
  s.required("loss_cv", &DatasetSpec::loss_cv, number().at_least(0).at_most(10),
             "standard deviation / median of that loss, over contexts");
  return s;
}

}  // namespace

const ObjectSchema<DatasetSpec>& dataset_schema() {
  static const ObjectSchema<DatasetSpec> schema = dataset_fields();
  return schema;
}

}  // namespace kvsim::models
