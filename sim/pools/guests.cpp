#include "sim/pools/guests.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::pools {

using engine::Callback;
using serving::Request;

Guests::Guests(const serving::InstanceEnvironment& environment, const serving::SchedulePolicyEntry& policy, Site& site,
               double tokens_per_draft, GuestsListener& listener)
    : simulator_(environment.simulator),
      requests_(environment.requests),
      site_(site),
      listener_(listener),
      scheduling_(environment, policy, all_, site.gpus(), std::as_const(site).memory(), tokens_per_draft,
                  serving::Scheduling::Asked::by_time) {
  scheduling_.plans_loads_of(listener);
  site.instance().before_steps(Callback::to<&Guests::decide>(this));
}

void Guests::join(Request& r) {
  all_.push_back(&r);
  scheduling_.ask(r);
  look();
}

void Guests::leave(Request& r) {
  if (std::erase(all_, &r) == 0) return;
  scheduling_.removed(r);
  look();
}

bool Guests::has(const Request& r) const {
  return std::find(all_.begin(), all_.end(), &r) != all_.end();
}

void Guests::drafted(Request& r) {
  if (has(r) && scheduling_.drafted(r)) look();
}

void Guests::kv_arrived(Request& r) {
  scheduling_.kv_arrived(r);
  look();
}

void Guests::look() {
  site_.instance().wake();
}

void Guests::verified(Request& r) {
  KVSIM_ALWAYS(scheduling_.verified(r), "a request that drafts elsewhere cannot give up its place here");
  look();
}

void Guests::decide() {
  const std::span<Request* const> asked = scheduling_.begin_iteration();
  if (!asked.empty()) {
    for (Request* r : asked) r->round.arriving = listener_.arrives_in_time(*r);
    for (const serving::IterationPlan::ReloadStart& wish : scheduling_.plan().reloads) start_reload(wish);
    for (const Request* r : asked) {
      if (scheduling_.action(*r) == serving::Action::verify) listener_.verify(*r);
    }
    site_.instance().set_every_step(scheduling_.asks_next());
  }
  look_again(scheduling_.asks_at());
}

/// When the policy has to be asked, whatever happens until then.
void Guests::look_again(std::optional<engine::SimTime> at) {
  if (at == looks_) return;
  simulator_.cancel(timer_);
  looks_ = at;
  if (at) timer_ = simulator_.schedule_at(*at, Callback::to<&Guests::on_time>(this));
}

void Guests::on_time() {
  looks_.reset();
  look();
}

void Guests::start_reload(const serving::IterationPlan::ReloadStart& wish) {
  Request& r = requests_[wish.request->id];
  if (r.round.reload != serving::Reload::none) return;
  if (listener_.start_reload(r)) {
    scheduling_.reload_started(r);
  } else {
    scheduling_.reload_found_no_memory(r, listener_.reservation(r), wish.until_it_starts);
  }
}

}  // namespace kvsim::pools
