// SPDX-License-Identifier: Apache-2.0
// Copies between backends, counted.
#include "integer_step/wire.h"

namespace nibble::inline integer_step {

Flight Wire::depart(const std::string& tensor, IntegerBackend& from, const Values& source,
                    IntegerBackend& to) {
  const std::int64_t numbers = source.images * source.picture.elements();
  const std::int64_t exponent = source.exponent.place < 0 ? 0 : kExponentBytes;
  return depart({tensor, &from, &to, numbers + exponent}, [&](Flight& flight) {
    if (from.runs_ahead()) {
      flight.departure = from.leave(source);
      return;
    }
    flight.landing = to.land(static_cast<std::size_t>(numbers));
    from.store(source, numbers_in<std::int8_t>(flight.landing->room()));
    flight.landing->send(from.read_exponent(source));
  });
}

void Wire::arrive(Flight& flight, IntegerBackend& to, const Values& target) {
  arrive(flight, [&] {
    if (flight.landing) return to.arrive(*flight.landing, target);
    to.load(numbers_in<std::int8_t>(flight.departure->bytes()), flight.departure->exponent(),
            target);
  });
}

Flight Wire::depart(Crossing crossing, const std::function<void(Flight&)>& start) {
  Flight flight{std::move(crossing)};
  tell(flight, Moment::leaves);
  host_.within("send " + flight.crossing.tensor, [&] { start(flight); });
  Traffic& traffic = traffic_[{flight.crossing.from, flight.crossing.to}];
  ++traffic.copies;
  traffic.bytes += flight.crossing.bytes;
  tell(flight, Moment::left);
  return flight;
}

void Wire::arrive(Flight& flight, const std::function<void()>& finish) {
  tell(flight, Moment::arrives);
  host_.within("wait for " + flight.crossing.tensor, [&] { flight.wait_on_host(); });
  host_.within("bring in " + flight.crossing.tensor, finish);
  tell(flight, Moment::arrived);
}

Traffic Wire::between(const IntegerBackend& from, const IntegerBackend& to) const {
  const auto found = traffic_.find({&from, &to});
  return found == traffic_.end() ? Traffic{} : found->second;
}

Traffic Wire::all() const {
  Traffic sum;
  for (const auto& [ends, traffic] : traffic_) {
    sum.copies += traffic.copies;
    sum.bytes += traffic.bytes;
  }
  return sum;
}

}  // namespace nibble::inline integer_step
