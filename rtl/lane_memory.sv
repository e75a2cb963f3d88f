// A row memory: LANES banks side by side. The array reads and writes each lane at its own address
// (a_*: addresses arrive one cycle later per lane); the other units read whole rows and write a row
// at address `wa`, or, in lanes with `wsel`, at `wb` (regrouped rows cross a border). The other
// units win a port; a program must keep them off the array's cycles, and `clash` says when it did
// not.
module lane_memory #(
  parameter int LANES = 4, parameter int BITS = 16, parameter int ADDRESS_BITS = 8) (
  input  logic                  clk,
  input  logic [LANES-1:0]      a_re,
  input  logic [LANES*16-1:0]   a_ra,
  input  logic [LANES-1:0]      a_we,
  input  logic [LANES*16-1:0]   a_wa,
  input  logic [LANES*BITS-1:0] a_wd,
  input  logic                  re,
  input  logic [15:0]           ra,
  input  logic [LANES-1:0]      we,
  input  logic [LANES-1:0]      wsel,
  input  logic [15:0]           wa,
  input  logic [15:0]           wb,
  input  logic [LANES*BITS-1:0] wd,
  output logic [LANES*BITS-1:0] rd,
  output logic                  clash);
  assign clash = (re && |a_re) || (|we && |a_we);
  genvar k;
  generate
    for (k = 0; k < LANES; k = k + 1) begin : g_lane
      logic [15:0] read_at, write_at;
      assign read_at = re ? ra : a_ra[k*16 +: 16];
      assign write_at = we[k] ? (wsel[k] ? wb : wa) : a_wa[k*16 +: 16];
      bank #(.BITS(BITS), .ADDRESS_BITS(ADDRESS_BITS)) lane (
        .clk(clk), .we(we[k] | a_we[k]), .wa(write_at[ADDRESS_BITS-1:0]),
        .wd(we[k] ? wd[k*BITS +: BITS] : a_wd[k*BITS +: BITS]),
        .re(re | a_re[k]), .ra(read_at[ADDRESS_BITS-1:0]), .rd(rd[k*BITS +: BITS]));
    end
  endgenerate
endmodule
