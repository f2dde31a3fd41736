#include "sim/instance/instance.h"

#include "sim/serving/kv_capacity.h"

namespace kvsim::serving {

void Instance::submit(Request& r) {
  if (parts_.own) return whole_.submit(r);
  if (parts_.admission.at_once()) return parts_.route->on_entered(*this, r);
  parts_.queues.arrive(r);
  parts_.loop.gpus().wake();
}

void Instance::begin(Request& r, Phase phase) {
  parts_.queues.join(r, phase);
  wake();
}

void Instance::verify_as_it_arrives(Request& r) {
  parts_.loop.await(r);
  once(r, Work::verify);
}

void Instance::update_requests() {
  for (Request* r : parts_.queues.decoding()) parts_.loop.uniform_batch().update(*r);
}

void Instance::start_measuring() {
  parts_.log.start_measuring();
  parts_.memory.start_measuring();
  parts_.use.start_measuring();
  parts_.computed = {};
  parts_.loop.gpus().start_measuring();
  parts_.admission.start_measuring();
}

void Instance::finish_measuring() {
  const InstanceEnvironment& env = parts_.env;
  parts_.use.finish_measuring();
  if (parts_.own) parts_.admission.finish_measuring();
  add_group(
      env.measured, parts_.loop.gpus(),
      {replica_weights(env.config, env.group), parts_.memory.gpu().pool().high_water(), instances(env.config.cluster)});
}

void Instance::check_conservation() const {
  std::int64_t held = 0, staged = 0;
  parts_.queues.for_each([&](const Request& r) {
    held += parts_.loop.uniform_batch().held(r);
    staged += r.kv.staged();
  });
  parts_.memory.check_conservation(held, staged);
}

}  // namespace kvsim::serving
