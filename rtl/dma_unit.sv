// Rows between the outside memory and one on-chip memory, one row per beat. A request (address,
// beats, direction) is handed over first; then the beats follow with valid/ready. Cycles without
// stalls: load 1 + beats, store 2 + beats.
module dma_unit #(parameter int LANES = 5) (
  input  logic                clk,
  input  logic                rst,
  input  logic                issue,
  input  logic [255:0]        d,
  output logic                idle,
  output logic                stall,
  output logic                load_beat,
  output logic                store_beat,
  output logic                request_valid,
  input  logic                request_ready,
  output logic                request_store,
  output logic [31:0]         request_addr,
  output logic [15:0]         request_beats,
  input  logic                load_valid,
  output logic                load_ready,
  output logic                store_valid,
  input  logic                store_ready,
  output logic [3:0]          buffer,
  output logic                buffer_re,
  output logic [15:0]         buffer_addr);
  localparam logic [2:0] IDLE = 0, REQUEST = 1, LOAD = 2, FIRST = 3, STORE = 4;
  logic [2:0] state;
  logic [15:0] left, at;
  assign idle = state == IDLE;
  assign request_valid = state == REQUEST;
  assign load_ready = state == LOAD;
  assign store_valid = state == STORE;
  assign load_beat = load_ready && load_valid;
  assign store_beat = store_valid && store_ready;
  assign stall = (request_valid && !request_ready) || (load_ready && !load_valid)
              || (store_valid && !store_ready);
  // The row after the one that leaves is read while it leaves.
  assign buffer_re = state == FIRST || store_beat;
  assign buffer_addr = at;
  always_ff @(posedge clk) begin
    if (rst) state <= IDLE;
    else case (state)
      IDLE: if (issue) begin
        buffer <= d[adagp_pkg::F_KIND +: 4];
        request_store <= d[adagp_pkg::F_STORE];
        request_addr <= d[adagp_pkg::F_ADDR +: 32];
        request_beats <= d[adagp_pkg::F_N0 +: 16];
        left <= d[adagp_pkg::F_N0 +: 16];
        at <= d[adagp_pkg::F_XB +: 16];
        state <= REQUEST;
      end
      REQUEST: if (request_ready) state <= request_store ? FIRST : LOAD;
      FIRST: begin
        at <= at + 16'd1;
        state <= STORE;
      end
      default: if (load_beat || store_beat) begin
        at <= at + 16'd1;
        left <= left - 16'd1;
        if (left == 16'd1) state <= IDLE;
      end
    endcase
  end
endmodule
