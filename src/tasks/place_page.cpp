// SPDX-License-Identifier: Apache-2.0
// The page of a plan.
#include "tasks/place_page.h"

#include <fmt/format.h>

#include "integer_step/choose_place.h"
#include "report/html_page.h"
#include "report/svg.h"
#include "tasks/place_pictures.h"

namespace nibble::inline tasks {
namespace {

std::string card(std::string_view name, std::string_view big, std::string_view note,
                 std::string_view colour) {
  return fmt::format(
      "<div class=\"card\" style=\"border-top-color: {}\"><div class=\"name\">{}</div>"
      "<div class=\"big\">{}</div><p class=\"note\">{}</p></div>\n",
      colour, escaped(name), escaped(big), escaped(note));
}

std::string cards(const StepPlan& plan) {
  std::string html = "<div class=\"cards\">\n";
  for (const PlanCandidate& each : plan.candidates) {
    const bool is_taken = &each == &plan.best();
    html += card(each.name + (is_taken ? ", taken" : ""), short_time(each.measured),
                 fmt::format("a step, {} predicted; {} across", short_time(each.predicted),
                             short_bytes(bytes_crossing(plan.graph, each.sides))),
                 is_taken ? "var(--accent)" : "var(--rule)");
  }
  return html + "</div>\n";
}

std::string units_section(const StepPlan& plan) {
  std::vector<std::string> head = {"node", "pass", "device", plan.devices[0]};
  if (plan.has_choice()) head.push_back(plan.devices[1]);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < plan.graph.units.size(); ++i) {
    const PlacedUnit& unit = plan.graph.units[i];
    rows.push_back({unit.node, std::string(word_of(unit.unit.pass)),
                    plan.devices[plan.best().sides[i]], short_time(plan.costs.units[i][0])});
    if (plan.has_choice())
      rows.back().push_back(unit.is_fixed ? "" : short_time(plan.costs.units[i][1]));
  }
  return "<h2>Costs of every pass</h2>\n" + html_table(head, rows);
}

std::string crossings_section(const StepPlan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < plan.graph.flows.size(); ++i) {
    const Flow& flow = plan.graph.flows[i];
    if (!crosses(flow, plan.best().sides)) continue;
    const std::uint8_t from = plan.best().sides[flow.from];
    rows.push_back({flow.tensor, plan.devices[from], plan.devices[1 - from],
                    short_bytes(flow.bytes),
                    short_time(plan.costs.copy(plan.graph, i, from).sum())});
  }
  if (rows.empty()) return "";
  return "<h2>What crosses in a step</h2>\n" +
         html_table({"tensor", "from", "to", "size", "copy"}, rows);
}

std::string links_note(const StepPlan& plan) {
  if (!plan.has_choice()) return "";
  std::string text;
  for (std::size_t from = 0; from < 2; ++from) {
    const LinkCost& link = plan.costs.links[from];
    text += fmt::format("{} to {}, {}: {} and {:.3f} ns a byte. ", plan.devices[from],
                        plan.devices[1 - from], name_of(plan.costs.wire), short_time(link.latency),
                        static_cast<double>(link.picoseconds_a_byte) / 1e3);
  }
  return fmt::format("<p class=\"note\">A copy from {}</p>\n", escaped(text));
}

}  // namespace

std::string plan_page(const Network& network, const StepPlan& plan) {
  std::string body =
      fmt::format("<p>A training step of {} images: {}.{}</p>\n", plan.images, escaped(plan.why),
                  plan.has_one_result ? " No weight depends on the choice." : "");
  body += cards(plan);
  body += fmt::format("<p><code>--place '{}'</code></p>\n", escaped(plan.rules));
  body += "<h2>The network</h2>\n" + html_figure(network_picture(network, plan));
  body += "<h2>One step on the time line of the plan</h2>\n" + html_figure(time_picture(plan));
  body += links_note(plan) + crossings_section(plan) + units_section(plan);
  return html_page("Placement of " + network.name, body, "nibble place");
}

}  // namespace nibble::inline tasks
