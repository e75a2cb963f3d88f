// One counter per event; bit i of `events` counts into counter i.
module counters (
  input  logic                                                clk,
  input  logic                                                clear,
  input  logic [adagp_pkg::EVENTS-1:0]                        events,
  output logic [adagp_pkg::EVENTS*adagp_pkg::COUNTER_BITS-1:0] counts);
  localparam int BITS = adagp_pkg::COUNTER_BITS;
  genvar i;
  generate
    for (i = 0; i < adagp_pkg::EVENTS; i = i + 1) begin : g_event
      always_ff @(posedge clk) begin
        if (clear) counts[i*BITS +: BITS] <= {BITS{1'b0}};
        else if (events[i]) counts[i*BITS +: BITS] <= counts[i*BITS +: BITS] + 1'b1;
      end
    end
  endgenerate
endmodule
