#include "sim/scenario/storage_schema.h"

#include "sim/scenario/outage_schema.h"

namespace kvsim::scenario {

using schema::bandwidth;
using schema::boolean;
using schema::bytes;
using schema::ObjectSchema;
using schema::Presence;
using schema::Reporter;
using schema::text;
using schema::time;
using serving::StorageTierConfig;

ObjectSchema<StorageTierConfig> storage_schema() {
  using T = StorageTierConfig;
  constexpr double kSlowest = 1e3;  // bytes/s: below, a load outlasts any run
  ObjectSchema<T> s("storage", "A tier below host memory, for stored prompts (placement).");
  s.required("name", &T::name, text().non_empty(), "what results call it: ssd, remote");
  s.optional("capacity", &T::capacity_bytes, bytes().non_negative(),
             "of each such tier; without it, which only the last tier may be, all is kept");
  s.required("read", &T::read_bytes_per_s, bandwidth().at_least(kSlowest), "to host memory, all readers together");
  s.optional("write", &T::write_bytes_per_s, bandwidth().at_least(kSlowest),
             "from host memory; by default that of reading");
  s.optional("latency", &T::latency_s, time().non_negative().at_most(3600),
             "of every read and write, beside its bytes");
  s.optional("shared", &T::shared, boolean(), "one tier for all replicas, else one for each");
  s.list("outages", &T::outages, outage_schema(), Presence::optional, "failures of its links, both directions");
  s.check([](const T& tier, const Reporter& report) { check_outages(tier.outages, report); });
  return s;
}

}  // namespace kvsim::scenario
